// @ts-check
/** `<passeur-chat>`: the page: who is asking, which conversation, and the one event stream of all tabs. */

import { h, must } from "../look/dom.js";
import { PasseurElement } from "../look/element.js";
import { icon } from "../look/icons.js";
import "../look/preferences.js";
import { asProblem, explain } from "../talk/explain.js";
import { Dialogue } from "../talk/dialogue.js";
import { Notices } from "../talk/notices.js";
import { Api, apiBase } from "../wire/api.js";
import { project } from "../wire/project.js";
import { Session } from "../wire/session.js";
import { SharedStream } from "../wire/shared_stream.js";
import { words } from "../words/index.js";
import { ConversationList } from "./conversation_list.js";
import { Drawer } from "./drawer.js";
import { framed, provenByHost } from "./framed.js";

/** What is wrong with the address, the site or its proof, so that waiting does not help. */
const REFUSALS = new Set(["unauthenticated", "forbidden-origin", "proof-refused", "proof-missing"]);
/** Events that change what the list of conversations shows. */
const LIST_EVENTS = new Set(["message.created", "conversation.updated", "conversation.created"]);
/** The list is fetched again at most this often. */
const LIST_REST_MS = 800;

export class ChatPage extends PasseurElement {
  #listTimer = 0;
  #listPages = 1;

  build() {
    this.key = project.key;
    this.session = new Session(apiBase(), this.key, provenByHost());
    /** Whose drafts and last conversation these are: the browser's, or those of who is signed in. */
    this.owner = this.key;
    this.api = new Api(apiBase(), this.session, () => words.language);
    this.dialogue = must(this, "passeur-dialogue", Dialogue);
    this.list = must(this, "passeur-conversations", ConversationList);
    this.notices = must(this, "passeur-notices", Notices);
    this.menu = must(this, "#menu-button", HTMLButtonElement);
    this.menu.append(icon("menu"));
    must(this, ".wordmark", HTMLElement).replaceChildren(icon("mark", 26), h("span", {}, project.name));
    this.drawer = new Drawer(this.list, this.menu, must(this, ".page-main", HTMLElement));
    this.dialogue.use(this.api, this.key);
  }

  connected() {
    const on = (/** @type {string} */ type, /** @type {(detail: any) => void} */ act) =>
      this.addEventListener(type, (event) => act(/** @type {CustomEvent} */ (event).detail), { signal: this.alive });
    on("passeur-choose", ({ id }) => this.#choose(id));
    on("passeur-delete", ({ id }) => this.#delete(id));
    on("passeur-notice", ({ conversation_id: id }) => this.#choose(id));
    on("passeur-made", ({ id }) => this.#address(id, "replace"));
    on("passeur-renewed", () => this.#listSoon());
    on("passeur-more", () => {
      this.#listPages += 1;
      this.#fetchList();
    });
    on("passeur-gone", () => this.#choose(""));
    addEventListener("popstate", () => this.#open(addressed()), { signal: this.alive });
    this.session?.addEventListener(
      "visitor-changed",
      () => location.assign(location.pathname + location.search.replace(/([?&])c=[^&]*/, "$1")),
      { signal: this.alive },
    );
    const focus = () => this.dialogue?.focus();
    framed({ fresh: () => this.#choose(""), focus }, project.name, this.alive);
    if (project.unknownKey === null) this.#start();
    else this.#refuse(() => [words.t.unknownKey.title, words.t.unknownKey.how(project.unknownKey ?? "")], false);
  }

  reword() {
    const { t } = words;
    document.title = project.name;
    must(this, ".skip", HTMLElement).textContent = t.skip;
    this.menu?.setAttribute("aria-label", t.openMenu);
    if (this.menu) this.menu.title = t.openMenu;
  }

  /** Say why there is no conversation here, in place of one. @param {() => string[]} says @param {boolean} mayHelp */
  #refuse(says, mayHelp) {
    this.toggleAttribute("data-refused", true);
    this.dialogue?.refuse(says, mayHelp);
  }

  /** Know who asks; tells whether it goes on. Whoever is proven has drafts of their own, so they come first. */
  async #signIn() {
    try {
      await this.session?.token();
    } catch (cause) {
      const problem = asProblem(cause);
      if (!problem) throw cause;
      if (REFUSALS.has(problem.slug)) {
        this.#refuse(() => [words.t.refused, explain(problem)], true);
        return false;
      }
      // anything else is told with the first request that fails; the stream goes on trying
    }
    if (this.session?.prove && this.session.visitor) {
      this.owner = `${this.key}.${this.session.visitor}`;
      this.dialogue?.own(this.owner);
    }
    return true;
  }

  async #start() {
    if (this.session?.prove && !(await this.#signIn())) return;
    const last = isBare() && !addressed() ? this.#lastOpen("") : null;
    if (last) this.#address(last, "replace");
    await this.#open(addressed());
    if (matchMedia("(hover: hover)").matches) this.dialogue?.focus();
    if (!this.api || !this.session || !(await this.#signIn())) return;
    this.#fetchList();
    this.notices?.use(this.api);
    const shared = new SharedStream(this.api, {
      onEvent: (event) => this.#take(event),
      onResync: () => {
        this.dialogue?.reload();
        this.notices?.refresh();
        this.#listSoon();
      },
      onBegin: () => {
        if (!this.dialogue?.conversation.running) this.dialogue?.reload();
        this.notices?.refresh();
        this.#listSoon();
      },
      onState: (state) => this.dialogue?.showLine(state),
    });
    await shared.run(`passeur.stream.${this.key}.${this.session.visitor}`, this.alive);
  }

  /** @param {import("../wire/sse.js").ServerEvent} event */
  #take(event) {
    const data = JSON.parse(event.data);
    this.dialogue?.apply(event.type, data);
    this.notices?.apply(event.type, data);
    if (LIST_EVENTS.has(event.type)) this.#listSoon();
  }

  /** @param {string} id */
  #choose(id) {
    this.drawer?.close();
    this.#address(id, "push");
    this.#open(id).then(() => this.dialogue?.focus());
  }

  /** @param {string} id */
  async #open(id) {
    if (this.list) this.list.current = id;
    await this.dialogue?.show(id);
  }

  /** @param {string} id @param {"push" | "replace"} how */
  #address(id, how) {
    const address = new URL(location.href);
    if (id) address.searchParams.set("c", id);
    else address.searchParams.delete("c");
    if (address.href !== location.href) history[`${how}State`](null, "", address);
    if (this.list) this.list.current = id;
    if (isBare()) this.#lastOpen(id, true);
    this.#listSoon();
  }

  /** Without a list, the embedded page comes back to where one was. @param {string} id @param {boolean} [set] */
  #lastOpen(id, set = false) {
    try {
      if (set) localStorage.setItem(`passeur.last.${this.owner}`, id);
      return localStorage.getItem(`passeur.last.${this.owner}`) ?? "";
    } catch {
      return "";
    }
  }

  #listSoon() {
    // What comes meanwhile does not put it off: events without a pause would keep the list empty.
    this.#listTimer ||= setTimeout(() => {
      this.#listTimer = 0;
      this.#fetchList();
    }, LIST_REST_MS);
  }

  async #fetchList() {
    try {
      /** @type {import("./conversation_list.js").Entry[]} */
      const entries = [];
      /** @type {string | null} */
      let cursor = "";
      for (let page = 0; page < this.#listPages && cursor !== null; page += 1) {
        /** @type {any} */
        const found = await this.api?.json(`conversations${cursor && `?cursor=${encodeURIComponent(cursor)}`}`);
        entries.push(...found.conversations);
        cursor = found.next_cursor;
      }
      this.list?.show(entries, cursor !== null);
    } catch (cause) {
      if (!asProblem(cause)) throw cause; // the list stays as it was; the dialogue tells what is wrong
    }
  }

  /** @param {string} id */
  async #delete(id) {
    try {
      await this.api?.send(`conversations/${encodeURIComponent(id)}`, { method: "DELETE" });
    } catch (cause) {
      if (asProblem(cause)?.status !== 404) return this.#fetchList();
    }
    if (addressed() === id) this.#choose("");
    await this.#fetchList();
  }
}

/** Shown bare, inside someone else's page. */
function isBare() {
  return document.documentElement.dataset.view === "light";
}

/** The conversation named in the page's address. */
function addressed() {
  return new URLSearchParams(location.search).get("c") ?? "";
}

customElements.define("passeur-chat", ChatPage);
