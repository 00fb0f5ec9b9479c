// @ts-check
/** Line icons, drawn here on a grid of 24 so that the widget can carry them to any page. */

const SVG = "http://www.w3.org/2000/svg";

/** @type {Record<string, string[]>} */
const PATHS = {
  mark: [
    "M3 12.5h18c-.9 3.6-4.6 5.5-9 5.5s-8.1-1.9-9-5.5Z",
    "M12 12.5V5l5.5 5",
    "M3 21.5c1.5-1 3-1 4.5 0s3 1 4.5 0 3-1 4.5 0 3 1 4.5 0",
  ],
  boat: ["M2.5 14h19c-.9 4-4.5 6-9.5 6s-8.6-2-9.5-6Z", "M12 13.5V3.5l6.5 7.5H12"],
  send: ["M12 19V5", "M5.5 11.5 12 5l6.5 6.5"],
  stop: ["M6.5 6.5h11v11h-11z"],
  menu: ["M4 7h16", "M4 12h10", "M4 17h16"],
  plus: ["M12 5v14", "M5 12h14"],
  close: ["M6 6l12 12", "M18 6 6 18"],
  copy: ["M9 9h10v11H9z", "M15 9V4H5v11h4"],
  check: ["M5 12.5 10 17.5 19 7"],
  retry: ["M19.5 12a7.5 7.5 0 1 1-2.3-5.4", "M19.5 3.5v4h-4"],
  edit: ["M4 20h4L19.5 8.5l-4-4L4 16z", "M13 7l4 4"],
  back: ["M19 12H5", "M11.5 5.5 5 12l6.5 6.5"],
  down: ["M12 5v14", "M5.5 12.5 12 19l6.5-6.5"],
  trash: ["M5 7h14", "M9.5 7V4.5h5V7", "M7 7l.8 12.5h8.4L17 7"],
  clip: [
    "M19.5 11.5l-7.8 7.8a4.6 4.6 0 0 1-6.5-6.5l8.3-8.3a3.1 3.1 0 0 1 4.4 4.4l-8.3 8.3a1.5 1.5 0 0 1-2.2-2.2l7.6-7.6",
  ],
  mic: [
    "M12 4a2.5 2.5 0 0 1 2.5 2.5v5a2.5 2.5 0 0 1-5 0v-5A2.5 2.5 0 0 1 12 4Z",
    "M6 11.5a6 6 0 0 0 12 0",
    "M12 17.5V21",
  ],
  person: ["M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Z", "M4.5 20.5c.8-3.8 3.8-5.5 7.5-5.5s6.7 1.7 7.5 5.5"],
  bell: ["M6 17v-6.5a6 6 0 0 1 12 0V17l1.5 2h-15z", "M10 21.5h4", "M12 4.5V2.5"],
  leave: ["M14 5H5v14h9", "M10 12h10", "M16.5 8.5 20 12l-3.5 3.5"],
  out: ["M9 6H5v13h13v-4", "M13 5h6v6", "M19 5l-9 9"],
  sun: [
    "M12 16.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9Z",
    "M12 2.5v2",
    "M12 19.5v2",
    "M2.5 12h2",
    "M19.5 12h2",
    "M5.3 5.3l1.4 1.4",
    "M17.3 17.3l1.4 1.4",
    "M5.3 18.7l1.4-1.4",
    "M17.3 6.7l1.4-1.4",
  ],
  moon: ["M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10Z"],
  auto: [
    "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17Z",
    "M12 3.5v17",
    "M12 8l5.5-1.5",
    "M12 12.5h8.5",
    "M12 17l5.5.8",
  ],
  globe: ["M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17Z", "M3.5 12h17", "M12 3.5c5 5 5 12 0 17-5-5-5-12 0-17Z"],
  warn: ["M12 4 2.8 20h18.4z", "M12 10v5", "M12 17.3v.4"],
  cloudOff: ["M4 4l16 16", "M8 8.5A5 5 0 0 0 7 18h10", "M11 6.5a6 6 0 0 1 6.5 4.5A3.7 3.7 0 0 1 20 17"],
};

/**
 * @param {string} name one of the drawings above
 * @param {number} [size] in CSS pixels
 * @returns {SVGSVGElement} hidden from assistive technology: the words beside it speak
 */
export function icon(name, size = 20) {
  const svg = document.createElementNS(SVG, "svg");
  const traits = { viewBox: "0 0 24 24", width: size, height: size, "aria-hidden": "true", class: `icon icon-${name}` };
  for (const [key, value] of Object.entries(traits)) svg.setAttribute(key, String(value));
  for (const drawing of PATHS[name] ?? []) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", drawing);
    svg.append(path);
  }
  return svg;
}
