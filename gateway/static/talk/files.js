// @ts-check
/** Files that a message carries: pictures are shown, documents can be saved. The bytes come with the reader's token. */

import { h } from "../look/dom.js";
import { icon } from "../look/icons.js";

/** @typedef {import("./model.js").AttachedFile} AttachedFile */

/**
 * @param {AttachedFile[]} files
 * @param {(file: AttachedFile, then: (bytes: Blob) => void) => void} fetchIt
 * @returns {HTMLElement | null}
 */
export function filesOf(files, fetchIt) {
  if (files.length === 0) return null;
  return h(
    "ul",
    { class: "files" },
    ...files.map((file) => h("li", {}, file.kind === "image" ? picture(file, fetchIt) : document_(file, fetchIt))),
  );
}

/** @param {AttachedFile} file @param {(file: AttachedFile, then: (bytes: Blob) => void) => void} fetchIt */
function picture(file, fetchIt) {
  const image = h("img", { alt: file.name });
  fetchIt(file, (bytes) => {
    const address = URL.createObjectURL(bytes);
    image.addEventListener("load", () => URL.revokeObjectURL(address), { once: true });
    image.src = address;
  });
  return image;
}

/** @param {AttachedFile} file @param {(file: AttachedFile, then: (bytes: Blob) => void) => void} fetchIt */
function document_(file, fetchIt) {
  const save = () =>
    fetchIt(file, (bytes) => {
      const address = URL.createObjectURL(bytes);
      h("a", { href: address, download: file.name }).click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    });
  return h("button", { type: "button", class: "file", click: save }, icon("clip", 15), h("span", {}, file.name));
}

/**
 * Answer a message element's wish for a file's bytes.
 *
 * @param {import("../wire/api.js").Api} api
 * @param {{ file: AttachedFile, then: (bytes: Blob) => void }} wish
 */
export async function answerFile(api, { file, then }) {
  try {
    then(await (await api.send(`attachments/${encodeURIComponent(file.id)}`, { accept: "*/*" })).blob());
  } catch {
    // the name stays to be read; pressing again asks again
  }
}
