// Bundles src/ into ../src/deltalog/apps/server/static, with a gzipped copy of each text and the licences of what is in it.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(here, "../src/deltalog/apps/server/static");

const result = await build({
  absWorkingDir: here,
  entryPoints: ["src/main.ts", "src/style.css"],
  bundle: true, splitting: true, format: "esm", minify: true, target: "es2022", charset: "utf8",
  entryNames: "[name]-[hash]", chunkNames: "chunk-[hash]", outdir: "out", write: false, metafile: true, legalComments: "none",
});

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const names = result.outputFiles.map((file) => file.path.split("/").pop());
result.outputFiles.forEach((file, i) => writeFileSync(join(out, names[i]), file.contents));

const entry = (start, end) => names.find((name) => name.startsWith(start) && name.endsWith(end));
const html = readFileSync(join(here, "src/index.html"), "utf8")
  .replace("main.js", entry("main-", ".js")).replace("style.css", entry("style-", ".css"))
  .replace("<!-- preload -->", preloads(result.metafile).map((name) => `<link rel="modulepreload" href="static/${name}">`).join("\n"));
writeFileSync(join(out, "index.html"), html);
writeFileSync(join(out, "icon.svg"), readFileSync(join(here, "src/icon.svg")));
writeFileSync(join(out, "THIRD_PARTY_LICENSES"), licences(Object.keys(result.metafile.inputs)));
report();

// The chunks that the entry imports at once.
function preloads(meta) {
  const main = Object.entries(meta.outputs).find(([, output]) => output.entryPoint === "src/main.ts")[1];
  return main.imports.filter((one) => one.kind === "import-statement").map((one) => one.path.split("/").pop());
}

function licences(inputs) {
  const packages = new Set(inputs.map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]).filter(Boolean));
  for (const name of packages) { // a package may have others inside of it
    const { dependencies } = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
    Object.keys(dependencies ?? {}).forEach((other) => packages.add(other));
  }
  return [...packages].sort().map((name) => {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    if (!file) throw new Error(`${name} has no licence file`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  }).join(`\n${"-".repeat(80)}\n\n`);
}

function report() {
  for (const file of result.outputFiles) {
    const digest = createHash("sha256").update(file.contents).digest("hex").slice(0, 8);
    console.log(file.path.split("/").pop().padEnd(28), String(file.contents.length).padStart(8), digest);
  }
}
