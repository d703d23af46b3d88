// Asks for the token of the server. It is kept in this tab only (sessionStorage), and sent to this server only.

import { token } from "./api";
import { button, h } from "./dom";

let asking: Promise<boolean> | null = null;

/** Shows the dialog, once however many requests need it; false if the user gives none. */
export function askForToken(wrong: boolean): Promise<boolean> {
  asking ??= new Promise<boolean>((done) => {
    const input = h("input", { type: "password", autocomplete: "off", "aria-label": "Token", required: true });
    const finish = (given: boolean) => () => {
      if (given && !input.value.trim()) return input.focus();
      if (given) token.set(input.value.trim());
      dialog.close();
      dialog.remove();
      asking = null;
      done(given);
    };
    const form = h("form", { method: "dialog", onsubmit: (event: Event) => { event.preventDefault(); finish(true)(); } },
      h("h2", {}, "A token is needed"), h("p", {}, wrong ? "The server does not accept this token. Another one?" : "This server asks for a token (deltalog serve --token-file)."), input,
      h("p", { class: "dim" }, "It is kept in this tab until you close it, and nowhere else."),
      h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, "Continue"), button("Cancel", finish(false))));
    const dialog = h("dialog", { class: "card padded", "aria-label": "A token is needed", oncancel: finish(false) }, form);
    document.body.append(dialog);
    dialog.showModal();
    input.focus();
  });
  return asking;
}
