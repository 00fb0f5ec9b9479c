// @ts-check
/**
 * The visitor's session: made from the project's public key, kept in localStorage, renewed before it ends.
 *
 * Tabs take turns (Web Locks), so that opening three at once makes one visitor and not three.
 *
 * Where the host proves who its visitor is, the session is made of that proof instead and kept in this tab's memory
 * only: who is signed in is asked of the host each time, and nothing is ever taken over from an anonymous visitor.
 */

import { problemOf, Problem } from "./problem.js";

/** Renew when less than this is left of the token. */
const MARGIN_MS = 60_000;
/** A refused proof is asked for once more: it may have run out on its way. */
const PROOF_ATTEMPTS = 2;

/** @typedef {{ token: string, visitor_id: string, expires_at: string }} Kept */
/** @typedef {{ jwt: string } | { user: { user_id: string, issued_at: number, signature: string } }} Proof */
/** @typedef {() => Promise<Proof | null>} Prove asks the host; null when nobody is signed in there */

export class Session extends EventTarget {
  /**
   * @param {URL} base the address of `/v1/`
   * @param {string} publicKey
   * @param {Prove | null} [prove] where the host proves its visitors
   */
  constructor(base, publicKey, prove = null) {
    super();
    this.prove = prove;
    /** @type {Promise<Kept> | null} */
    this.proving = null;
    this.base = base;
    this.publicKey = publicKey;
    this.name = `passeur.session.${base.host}.${publicKey}`;
    /** @type {Kept | null} */
    this.kept = null;
  }

  /** The visitor's id, or "" before the first token. */
  get visitor() {
    return this.kept?.visitor_id ?? "";
  }

  /**
   * A token that is good for the next minute.
   *
   * @param {string} [refused] a token the server just refused, which must not be offered again
   * @returns {Promise<string>}
   */
  async token(refused = "") {
    if (this.prove) return this.#proven(this.prove, refused);
    const ready = this.#read();
    if (ready && ready.token !== refused && !isOld(ready)) return ready.token;
    return exclusively(this.name, async () => {
      const other = this.#read(); // another tab may have renewed it while we waited
      if (other && other.token !== refused && !isOld(other)) return other.token;
      return (await this.#renew(other)).token;
    });
  }

  /** @param {Prove} prove @param {string} refused @returns {Promise<string>} */
  async #proven(prove, refused) {
    const { kept } = this;
    if (kept && kept.token !== refused && !isOld(kept)) return kept.token;
    this.proving ??= this.#signIn(prove).finally(() => {
      this.proving = null;
    });
    return (await this.proving).token;
  }

  /** @param {Prove} prove @returns {Promise<Kept>} */
  async #signIn(prove) {
    const before = this.kept?.visitor_id;
    /** @type {Response | null} */
    let response = null;
    for (let attempt = 0; attempt < PROOF_ATTEMPTS; attempt += 1) {
      const proof = await prove();
      if (!proof) {
        this.prove = null; // nobody is signed in there: from here on this tab is anonymous
        this.kept = null;
        const token = await this.token();
        this.#changedFrom(before);
        return /** @type {Kept} */ (this.kept ?? { token, visitor_id: "", expires_at: "" });
      }
      response = await this.#ask(undefined, proof);
      if (response.status !== 401) break;
    }
    if (response?.status === 401) throw new Problem("proof-refused", { status: 401 });
    if (!response?.ok) throw await problemOf(/** @type {Response} */ (response));
    this.kept = /** @type {Kept} */ (await response.json());
    this.#changedFrom(before);
    return this.kept;
  }

  /** @param {Kept | null} old @returns {Promise<Kept>} */
  async #renew(old) {
    let response = await this.#ask(old?.token);
    if (response.status === 401 && old) response = await this.#ask(undefined); // too old to renew: a new visitor
    if (!response.ok) throw await problemOf(response);
    /** @type {Kept} */
    const kept = await response.json();
    this.kept = kept;
    try {
      localStorage.setItem(this.name, JSON.stringify(kept));
    } catch {
      // storage refused (private window, full): the session lives as long as the tab
    }
    this.#changedFrom(old?.visitor_id);
    return kept;
  }

  /** @param {string | undefined} before who it was, undefined for nobody */
  #changedFrom(before) {
    if (before !== undefined && before !== this.visitor) this.dispatchEvent(new Event("visitor-changed"));
  }

  /** @param {string | undefined} token @param {Proof} [proof] */
  async #ask(token, proof) {
    /** @type {Record<string, string>} */
    const headers = { "content-type": "application/json" };
    if (token) headers.authorization = `Bearer ${token}`;
    try {
      const body = JSON.stringify({ public_key: this.publicKey, ...proof });
      return await fetch(new URL("sessions", this.base), { method: "POST", headers, body, credentials: "omit" });
    } catch {
      throw new Problem("network");
    }
  }

  /** @returns {Kept | null} */
  #read() {
    try {
      const text = localStorage.getItem(this.name);
      if (text) this.kept = JSON.parse(text);
    } catch {
      // unreadable storage is the same as none
    }
    return this.kept;
  }
}

/** @param {Kept} kept */
function isOld(kept) {
  return Date.parse(kept.expires_at) - Date.now() < MARGIN_MS;
}

/**
 * @template T
 * @param {string} name
 * @param {() => Promise<T>} act
 * @returns {Promise<T>}
 */
async function exclusively(name, act) {
  if (!navigator.locks) return act(); // plain HTTP on another machine: a secure context is missing
  return /** @type {Promise<T>} */ (navigator.locks.request(name, act));
}
