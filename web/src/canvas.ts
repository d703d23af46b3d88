// A drawing that is moved and enlarged: with the mouse, with fingers, with keys, and with its buttons.

import { select } from "d3-selection";
import { zoom, zoomIdentity, type ZoomBehavior } from "d3-zoom";
import { button, h, s } from "./dom";

const MOST = 1.15, BUTTONS = 40; // the scale of what is small; pixels at the right

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

  /** Shows everything in the middle; not smaller than `least`, and then what is around a shape, or the upper end. */
  fit(least = 0, about?: SVGGElement): void {
    const { clientHeight: height } = this.svg, width = this.svg.clientWidth - BUTTONS, box = this.layer.getBBox();
    if (width <= 0 || !box.width) return;
    const scale = Math.max(least, Math.min(MOST, 0.94 * Math.min(width / (box.width + 20), height / (box.height + 20))));
    const around = about?.getBBox(), [wide, high] = [box.width * scale > width, box.height * scale > height];
    const centre = wide && around ? around.x + around.width / 2 : box.x + box.width / 2;
    const middle = high && around ? around.y + around.height / 2 : high ? box.y + height / (2 * scale) - 8 : box.y + box.height / 2;
    select(this.svg).call(this.zoom.transform, zoomIdentity.translate(width / 2 - centre * scale, height / 2 - middle * scale).scale(scale));
  }

  /** The height that everything needs at the present width. */
  wanted(least: number): number {
    const box = this.layer.getBBox();
    return box.height * Math.max(least, Math.min(MOST, (0.94 * (this.svg.clientWidth - BUTTONS)) / (box.width + 20))) + 50;
  }
}
