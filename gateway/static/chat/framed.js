// @ts-check
/** The page inside a host's frame (see widget/passeur.js). Only pages that the project lists can frame it at all. */

/**
 * @param {{ fresh: () => void, focus: () => void }} act what the host may ask for
 * @param {AbortSignal} alive
 */
export function framed(act, alive) {
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
}

/** Who frames us, as the browser says; "" when it does not. */
function hostOrigin() {
  try {
    return location.ancestorOrigins?.[0] ?? new URL(document.referrer).origin;
  } catch {
    return "";
  }
}
