// @ts-check
/** A staff member's session: opened by login and password, kept in localStorage until it ends or they sign out. */

import { Problem, problemOf } from "../wire/problem.js";

/** @typedef {{ id: string, login: string, name: string, role: "agent" | "admin", active: boolean }} Member */
/** @typedef {{ token: string, expires_at: string, staff: Member, project_id: string, project_name: string }} Kept */

export class StaffSession extends EventTarget {
  /** @param {URL} base the address of `/v1/` */
  constructor(base) {
    super();
    this.base = base;
    this.name = `passeur.staff.${base.host}`;
    /** @type {Kept | null} */
    this.kept = this.#read();
  }

  /** @returns {Member | null} */
  get member() {
    return this.kept?.staff ?? null;
  }

  /**
   * The token, as `Api` asks for it. Nothing can renew it without the password: a refused one ends the session.
   *
   * @param {string} [refused]
   * @returns {Promise<string>}
   */
  async token(refused = "") {
    if (!this.kept || this.kept.token === refused) {
      this.#forget();
      throw new Problem("unauthenticated", { status: 401 });
    }
    return this.kept.token;
  }

  /** @param {string} login @param {string} password */
  async open(login, password) {
    let response;
    try {
      response = await fetch(new URL("staff/sessions", this.base), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ login, password }),
        credentials: "omit",
      });
    } catch {
      throw new Problem("network");
    }
    if (!response.ok) throw await problemOf(response);
    this.kept = await response.json();
    try {
      localStorage.setItem(this.name, JSON.stringify(this.kept));
    } catch {
      // it lives as long as the tab
    }
  }

  /** Sign out here; the server is told, but a server that is away keeps nobody in. */
  async close() {
    const { kept } = this;
    this.#forget();
    if (!kept) return;
    const headers = { authorization: `Bearer ${kept.token}` };
    await fetch(new URL("staff/sessions", this.base), { method: "DELETE", headers, credentials: "omit" }).catch(
      () => {},
    );
  }

  #forget() {
    this.kept = null;
    try {
      localStorage.removeItem(this.name);
    } catch {
      // nothing was kept
    }
    this.dispatchEvent(new Event("ended"));
  }

  /** @returns {Kept | null} */
  #read() {
    try {
      /** @type {Kept | null} */
      const kept = JSON.parse(localStorage.getItem(this.name) ?? "null");
      return kept && Date.parse(kept.expires_at) > Date.now() ? kept : null;
    } catch {
      return null;
    }
  }
}
