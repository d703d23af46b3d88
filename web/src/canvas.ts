// A drawing that is moved and enlarged: with the mouse, with fingers, with keys, and with its buttons.

import { select } from "d3-selection";
import { zoom, zoomIdentity, type ZoomBehavior } from "d3-zoom";
import { button, h, s } from "./dom";

export class Canvas {
  readonly layer = s("g");
  readonly svg = s("svg", { class: "canvas" }, this.layer);
  readonly element = h("div", { class: "drawing" });
  private readonly zoom: ZoomBehavior<SVGSVGElement, unknown>;

  constructor(label: string, least = 0.1) {
    this.svg.setAttribute("role", "group");
    this.svg.setAttribute("aria-label", label);
    this.zoom = zoom<SVGSVGElement, unknown>().scaleExtent([least, 3]).on("zoom", (event) => this.layer.setAttribute("transform", String(event.transform)));
    select(this.svg).call(this.zoom).on("dblclick.zoom", null);
    const by = (factor: number) => () => void select(this.svg).call(this.zoom.scaleBy, factor);
    this.element.append(this.svg, h("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
      button("+", by(1.35), { "aria-label": "Enlarge" }), button("−", by(1 / 1.35), { "aria-label": "Reduce" }),
      button("⤢", () => this.fit(), { "aria-label": "Show all", title: "Show all" })));
  }

  /** Shows a box, or everything, in the middle. */
  fit(box: { x: number; y: number; width: number; height: number } = this.layer.getBBox(), most = 1.15): void {
    const { clientWidth: width, clientHeight: height } = this.svg;
    if (!width || !box.width) return;
    const scale = Math.min(most, 0.94 * Math.min(width / (box.width + 20), height / (box.height + 20)));
    const at = zoomIdentity.translate(width / 2, height / 2).scale(scale).translate(-box.x - box.width / 2, -box.y - box.height / 2);
    select(this.svg).call(this.zoom.transform, at);
  }
}
