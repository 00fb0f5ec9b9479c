// @ts-check
/** What can go wrong between the page and the gateway, as one kind of error with the problem document's slug. */

/** @typedef {{ field: string, problem: string }} Violation */

export class Problem extends Error {
  /**
   * @param {string} slug the problem type's last part, or `network` when no answer came
   * @param {object} [facts]
   * @param {number} [facts.status]
   * @param {string} [facts.detail] the server's own sentence, in English
   * @param {Date | null} [facts.until] from when trying again makes sense
   * @param {Violation[]} [facts.violations]
   * @param {string} [facts.requestId] what an operator can find in the logs
   * @param {string} [facts.turnId] the turn that is in the way
   */
  constructor(slug, { status = 0, detail = "", until = null, violations = [], requestId = "", turnId = "" } = {}) {
    super(detail || slug);
    this.name = "Problem";
    this.slug = slug;
    this.status = status;
    this.detail = detail;
    this.until = until;
    this.violations = violations;
    this.requestId = requestId;
    this.turnId = turnId;
  }

  /** Did the request perhaps arrive? Then only a retry under the same idempotency key is safe. */
  get unknownOutcome() {
    return this.status === 0 || this.status === 502 || this.status === 504;
  }
}

/**
 * Make a Problem of a response that is not a success; never throws.
 *
 * @param {Response} response
 * @returns {Promise<Problem>}
 */
export async function problemOf(response) {
  /** @type {Record<string, any>} */
  let document = {};
  try {
    document = await response.json();
  } catch {
    // a proxy's page, or nothing: the status alone must do
  }
  return problemFrom(document, response.status, response.headers);
}

/**
 * @param {Record<string, any>} document a problem document, or the `problem` of a turn's last step
 * @param {number} [status]
 * @param {Headers} [headers]
 * @returns {Problem}
 */
export function problemFrom(document, status = 0, headers = undefined) {
  const type = String(document.type ?? document.slug ?? "");
  const slug = type.split(/[/#:]/).pop() || "";
  return new Problem(slug && slug !== "blank" ? slug : fallbackSlug(status), {
    status,
    detail: String(document.detail ?? document.message ?? document.title ?? ""),
    until: untilOf(document, headers),
    violations: Array.isArray(document.violations ?? document.errors) ? (document.violations ?? document.errors) : [],
    requestId: String(document.request_id ?? headers?.get("x-request-id") ?? ""),
    turnId: String(document.turn_id ?? ""),
  });
}

/**
 * @param {Record<string, any>} document
 * @param {Headers} [headers]
 */
function untilOf(document, headers) {
  const stated = Date.parse(String(document.resets_at ?? ""));
  if (!Number.isNaN(stated)) return new Date(stated);
  const after = headers?.get("retry-after") ?? "";
  return /^\d+$/.test(after) ? new Date(Date.now() + Number(after) * 1000) : null;
}

/** @param {number} status */
function fallbackSlug(status) {
  /** @type {Record<number, string>} */
  const known = {
    401: "unauthenticated",
    403: "forbidden",
    404: "not-found",
    413: "body-too-large",
    429: "rate-limited",
    501: "unimplemented",
    503: "not-ready",
    504: "deadline",
  };
  return known[status] ?? "internal";
}
