// @ts-check
/** The page inside a host's frame (see widget/passeur.js). Only pages that the project lists can frame it at all. */

import { newKey } from "../wire/api.js";
import { Problem } from "../wire/problem.js";

/** How long the host may take to say who is signed in: it asks its own server. */
export const PROOF_WAIT_MS = 20_000;

/** @typedef {import("../wire/session.js").Proof} Proof */

/**
 * @param {{ fresh: () => void, focus: () => void }} act what the host may ask for
 * @param {string} name what the host may write above the frame
 * @param {AbortSignal} alive
 */
export function framed(act, name, alive) {
  if (window.parent === window) return;
  const host = hostOrigin();
  addEventListener(
    "message",
    (event) => {
      if (event.source !== window.parent || (host && event.origin !== host)) return;
      if (event.data?.type === "passeur:new") act.fresh();
      else if (event.data?.type === "passeur:focus") act.focus();
    },
    { signal: alive },
  );
  addEventListener(
    "keydown",
    (event) => {
      if (event.key === "Escape" && !event.defaultPrevented && host)
        window.parent.postMessage({ type: "passeur:close" }, host);
    },
    { signal: alive },
  );
  window.parent.postMessage({ type: "passeur:ready", name }, host || "*"); // no secret: that we are here, and our name
}

/**
 * How to ask the host who is signed in there; null where no host says that it can.
 *
 * @returns {import("../wire/session.js").Prove | null}
 */
export function provenByHost() {
  const host = hostOrigin();
  const promised = new URLSearchParams(location.search).get("identify") === "1";
  return promised && host && window.parent !== window ? () => askHost(host) : null;
}

/** @param {string} host @returns {Promise<Proof | null>} */
function askHost(host) {
  const id = newKey(); // never one that another page in this frame used
  return new Promise((resolve, reject) => {
    const over = new AbortController();
    const end = (/** @type {() => void} */ act) => {
      over.abort();
      clearTimeout(timer);
      act();
    };
    const timer = setTimeout(() => end(() => reject(new Problem("proof-missing"))), PROOF_WAIT_MS);
    addEventListener(
      "message",
      ({ source, origin, data }) => {
        if (source !== window.parent || origin !== host) return;
        if (data?.type !== "passeur:proof" || data.id !== id) return;
        const proof = proofOf(data.proof);
        end(() => (data.failed || proof === undefined ? reject(new Problem("proof-missing")) : resolve(proof)));
      },
      { signal: over.signal },
    );
    window.parent.postMessage({ type: "passeur:prove", id }, host);
  });
}

/** @param {any} given @returns {Proof | null | undefined} null: nobody is signed in; undefined: it is no proof at all */
function proofOf(given) {
  if (given === null || given === undefined || given === "") return null;
  if (typeof given === "string") return { jwt: given };
  const { user_id, issued_at, signature } = given;
  if (typeof user_id !== "string" || !Number.isInteger(issued_at) || typeof signature !== "string") return undefined;
  return { user: { user_id, issued_at, signature } };
}

/** Who frames us, as the browser says; "" when it does not. */
function hostOrigin() {
  try {
    return location.ancestorOrigins?.[0] ?? new URL(document.referrer).origin;
  } catch {
    return "";
  }
}
