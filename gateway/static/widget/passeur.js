// @ts-check
/**
 * Passeur on any page: one script tag, no framework, no build.
 *
 *   <script src="https://help.example/static/widget/passeur.js" data-public-key="pk_…" defer></script>
 *
 * or, without the attribute, `Passeur.init({ publicKey: "pk_…", language: "fr", theme: "dark" })` when you like.
 *
 * Where visitors sign in to your site, `Passeur.identify(async () => "a fresh JWT, or null")` tells the assistant who they
 * are, and `Passeur.identify(null)` that nobody is signed in any more: see docs/identity.md.
 *
 * The conversation lives in a frame of the gateway's own origin: the host page cannot read it, and the gateway's strict
 * policy holds inside whatever the host allows. The button and the panel are a web component in a shadow root. Which
 * pages may do this is the project's `allowed_origins`.
 */
(() => {
  const script = /** @type {HTMLScriptElement | null} */ (document.currentScript);
  const here = script ? script.src : "";
  const TEXTS = {
    fr: {
      open: "Poser une question",
      close: "Fermer l’assistant",
      fresh: "Nouvelle conversation",
      name: "Assistant",
      absent: "L’assistant n’est pas disponible sur cette page pour le moment.",
      owner: (/** @type {Refusal} */ it) =>
        `Pour le responsable du site : l’adresse ${it.origin} doit figurer dans allowed_origins de la clé ${it.key}, dans le fichier gateway.toml du projet ; la passerelle est ensuite à redémarrer. Si elle y figure, vérifiez que ${it.gateway} répond.`,
    },
    en: {
      open: "Ask a question",
      close: "Close the assistant",
      fresh: "New conversation",
      name: "Assistant",
      absent: "The assistant is not available on this page at the moment.",
      owner: (/** @type {Refusal} */ it) =>
        `For the owner of this site: the address ${it.origin} must be listed in allowed_origins of the key ${it.key}, in the project’s gateway.toml; then restart the gateway. If it is listed, check that ${it.gateway} answers.`,
    },
    es: {
      open: "Hacer una pregunta",
      close: "Cerrar el asistente",
      fresh: "Nueva conversación",
      name: "Asistente",
      absent: "El asistente no está disponible en esta página por el momento.",
      owner: (/** @type {Refusal} */ it) =>
        `Para el responsable del sitio: la dirección ${it.origin} debe figurar en allowed_origins de la clave ${it.key}, en el gateway.toml del proyecto; después hay que reiniciar la pasarela. Si figura, compruebe que ${it.gateway} responde.`,
    },
  };
  /** The frame says that it is there before its `load`; this much later it was refused, or there is no gateway. */
  const HELLO_WAIT_MS = 2_000;
  /** How long the frame may load at all before the same is said. */
  const LOAD_WAIT_MS = 20_000;
  const NAME_LIMIT = 100;
  const DRAWINGS = {
    mark: [
      "M3 12.5h18c-.9 3.6-4.6 5.5-9 5.5s-8.1-1.9-9-5.5Z",
      "M12 12.5V5l5.5 5",
      "M3 21.5c1.5-1 3-1 4.5 0s3 1 4.5 0 3-1 4.5 0 3 1 4.5 0",
    ],
    close: ["M6 6l12 12", "M18 6 6 18"],
    fresh: ["M12 5v14", "M5 12h14"],
  };
  const STYLE = `
    :host { --river: light-dark(#0d5f63, #84cdc4); --on-river: light-dark(#fff, #0a1f20); --paper: light-dark(#f6f4ee, #10171a);
      --ink: light-dark(#1b2426, #e9e6dc); --line: light-dark(#dcd8cb, #293539); color-scheme: light dark; position: fixed;
      inset: auto 1.25rem 1.25rem auto; z-index: 2147483000; font: 15px/1.4 system-ui, sans-serif; }
    :host([data-theme="light"]) { color-scheme: light; } :host([data-theme="dark"]) { color-scheme: dark; }
    button { font: inherit; cursor: pointer; border: 0; }
    button:focus-visible { outline: 2px solid var(--river); outline-offset: 2px; }
    svg { fill: none; stroke: currentcolor; stroke-width: 1.7; stroke-linecap: round; stroke-linejoin: round; display: block; }
    .launch { display: flex; align-items: center; gap: .6rem; height: 3.25rem; padding: 0 1.25rem 0 1rem; border-radius: 2rem;
      background: var(--river); color: var(--on-river); font-weight: 550; box-shadow: 0 6px 24px rgb(10 30 30 / 22%); }
    .panel { display: grid; grid-template-rows: auto 1fr; width: 25rem; height: min(42rem, calc(100dvh - 2.5rem)); overflow: hidden;
      border: 1px solid var(--line); border-radius: 18px; background: var(--paper); color: var(--ink); box-shadow: 0 12px 48px rgb(10 30 30 / 24%); }
    header { display: flex; align-items: center; gap: .5rem; padding: .4rem .5rem .4rem 1rem; border-bottom: 1px solid var(--line); }
    h2 { flex: 1; margin: 0; font: 500 1.1rem/1 "Iowan Old Style", Charter, Georgia, serif; }
    header button { display: grid; place-items: center; width: 2.5rem; height: 2.5rem; border-radius: 10px; background: none; color: inherit; }
    header button:hover { background: var(--line); }
    .holder { position: relative; }
    iframe { position: absolute; inset: 0; width: 100%; height: 100%; border: 0; background: var(--paper); color-scheme: inherit; }
    iframe:not([data-ready]) { visibility: hidden; } /* a browser's own page of refusal is no face to show */
    .absent { display: grid; align-content: center; gap: 1rem; height: 100%; padding: 2rem; box-sizing: border-box; overflow: auto; }
    .absent p { margin: 0; overflow-wrap: anywhere; } .absent p + p { font-size: .8125rem; opacity: .75; }
    [hidden] { display: none !important; }
    @media (max-width: 30rem) { :host([data-open]) { inset: 0; } .panel { width: 100%; height: 100%; border: 0; border-radius: 0; } }
    @media (forced-colors: active) { .launch { border: 1px solid ButtonText; } }`;

  /** @typedef {{ user_id: string, issued_at: number, signature: string }} SignedUser */
  /** @typedef {() => Promise<string | SignedUser | null> | string | SignedUser | null} Identify a fresh proof each time it is called; null when nobody is signed in */
  /** @typedef {{ publicKey: string, gateway?: string, language?: string, theme?: "light" | "dark", open?: boolean, identify?: Identify }} Options */
  /** @typedef {{ origin: string, key: string, gateway: string }} Refusal */

  /** @type {Identify | null} */
  let identity = null;

  class PasseurWidget extends HTMLElement {
    /** @type {HTMLIFrameElement | null} */
    frame = null;
    gateway = new URL(location.href);
    /** @type {Options} */
    options = { publicKey: "" };

    /** @param {Options} options */
    begin(options) {
      this.options = options;
      // The script lies at <gateway>/static/widget/passeur.js, so the gateway is two folders up.
      this.gateway = options.gateway ? new URL(options.gateway.replace(/\/?$/, "/")) : new URL("../../", here);
      const language = (options.language ?? document.documentElement.lang ?? navigator.language).slice(0, 2);
      this.language = language in TEXTS ? language : "en";
      if (options.theme) this.dataset.theme = options.theme;
      this.#draw(TEXTS[/** @type {keyof typeof TEXTS} */ (this.language)]);
      addEventListener("message", (event) => this.#hear(event));
      if (options.open) this.open(false);
    }

    /** @param {typeof TEXTS.en} texts */
    #draw(texts) {
      const root = this.attachShadow({ mode: "open" });
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(STYLE);
      root.adoptedStyleSheets = [sheet];
      this.launch = element(
        "button",
        { type: "button", class: "launch", "aria-haspopup": "dialog", "aria-expanded": "false" },
        drawing("mark", 26),
        element("span", {}, texts.open),
      );
      const fresh = element(
        "button",
        { type: "button", "aria-label": texts.fresh, title: texts.fresh },
        drawing("fresh", 20),
      );
      const close = element(
        "button",
        { type: "button", "aria-label": texts.close, title: texts.close },
        drawing("close", 20),
      );
      this.absent = element("div", { class: "absent", role: "status" });
      this.absent.hidden = true;
      this.holder = element("div", { class: "holder" }, this.absent);
      this.name = element("h2", { id: "name" }, texts.name);
      const head = element("header", {}, this.name, fresh, close);
      this.panel = element("section", { class: "panel", role: "dialog", "aria-labelledby": "name" }, head, this.holder);
      this.panel.hidden = true;
      this.launch.addEventListener("click", () => this.open());
      close.addEventListener("click", () => this.close());
      fresh.addEventListener("click", () => this.#tell({ type: "passeur:new" }));
      this.panel.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
      root.append(this.launch, this.panel);
    }

    /** @param {boolean} [focus] go to where one writes */
    open(focus = true) {
      if (!this.panel || !this.launch) return;
      this.panel.hidden = false;
      this.launch.hidden = true;
      this.launch.setAttribute("aria-expanded", "true");
      this.toggleAttribute("data-open", true);
      if (!this.frame || !this.absent?.hidden)
        this.load(); // nothing is fetched before someone asks
      else if (focus) this.#tell({ type: "passeur:focus" });
    }

    close() {
      if (!this.panel || !this.launch || this.panel.hidden) return;
      this.panel.hidden = true;
      this.launch.hidden = false;
      this.launch.setAttribute("aria-expanded", "false");
      this.toggleAttribute("data-open", false);
      this.launch.focus();
    }

    /** Begin the conversation's page, anew if it was there. */
    load() {
      this.frame?.remove();
      clearTimeout(this.waiting);
      const address = new URL("chat", this.gateway);
      address.searchParams.set("view", "light");
      address.searchParams.set("key", this.options.publicKey);
      address.searchParams.set("lang", this.language ?? "en");
      if (this.options.theme) address.searchParams.set("theme", this.options.theme);
      if (identity) address.searchParams.set("identify", "1");
      if (this.absent) this.absent.hidden = true;
      this.frame = element("iframe", {
        title: this.name?.textContent ?? "",
        src: address.href,
        allow: "microphone; clipboard-write",
        referrerpolicy: "origin",
      });
      const wait = (/** @type {number} */ ms) => {
        clearTimeout(this.waiting);
        this.waiting = setTimeout(() => this.#sayAbsent(), ms);
      };
      this.frame.addEventListener("load", () => this.frame?.dataset.ready === undefined && wait(HELLO_WAIT_MS));
      wait(LOAD_WAIT_MS);
      this.holder?.append(this.frame);
    }

    /** Say it in words of ours where the browser would show a broken page. */
    #sayAbsent() {
      const texts = TEXTS[/** @type {keyof typeof TEXTS} */ (this.language)];
      const facts = { origin: location.origin, key: this.options.publicKey, gateway: this.gateway.origin };
      this.absent?.replaceChildren(element("p", {}, texts.absent), element("p", {}, texts.owner(facts)));
      if (this.absent) this.absent.hidden = false;
    }

    /** @param {unknown} name what the project is called */
    #arrived(name) {
      clearTimeout(this.waiting);
      if (this.absent) this.absent.hidden = true;
      if (!this.frame) return;
      this.frame.dataset.ready = "";
      if (typeof name !== "string" || !name || !this.name) return;
      this.name.textContent = name.slice(0, NAME_LIMIT);
      this.frame.title = this.name.textContent;
    }

    /** Ask the host's page who is signed in, and tell the frame that asked. @param {unknown} id */
    async #prove(id) {
      const { frame } = this;
      /** @type {Record<string, unknown>} */
      const word = { type: "passeur:proof", id };
      try {
        word.proof = (await identity?.()) ?? null;
      } catch (cause) {
        word.failed = true;
        console.error("Passeur.identify: the function failed, so nobody can be signed in to the assistant.", cause);
      }
      if (frame === this.frame) this.#tell(word); // else it belongs to whoever was signed in before
    }

    /** @param {Record<string, unknown>} word */
    #tell(word) {
      this.frame?.contentWindow?.postMessage(word, this.gateway.origin);
    }

    /** @param {MessageEvent} event */
    #hear(event) {
      if (event.origin !== this.gateway.origin || event.source !== this.frame?.contentWindow) return;
      const { type, id, name } = event.data ?? {};
      if (type === "passeur:close") this.close();
      else if (type === "passeur:ready") this.#arrived(name);
      else if (type === "passeur:prove") this.#prove(id);
    }
  }

  /**
   * @template {keyof HTMLElementTagNameMap} K
   * @param {K} tag @param {Record<string, string>} traits @param {...(Node | string)} children
   * @returns {HTMLElementTagNameMap[K]}
   */
  function element(tag, traits, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(traits)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  /** @param {keyof typeof DRAWINGS} name @param {number} size */
  function drawing(name, size) {
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    for (const [key, value] of Object.entries({
      viewBox: "0 0 24 24",
      width: size,
      height: size,
      "aria-hidden": "true",
    }))
      svg.setAttribute(key, String(value));
    for (const line of DRAWINGS[name]) {
      const path = document.createElementNS(space, "path");
      path.setAttribute("d", line);
      svg.append(path);
    }
    return svg;
  }

  /** @param {Options} options @returns {PasseurWidget} there is one on a page; a second call gives the same */
  function init(options) {
    if (!options?.publicKey) throw new TypeError("Passeur.init: publicKey is needed");
    const known = /** @type {PasseurWidget | null} */ (document.querySelector("passeur-widget"));
    if (known) return known;
    if (options.identify) identity = options.identify;
    const widget = /** @type {PasseurWidget} */ (document.createElement("passeur-widget"));
    widget.begin(options);
    document.body.append(widget);
    return widget;
  }

  /**
   * Say how to learn who is signed in to this page. Called when the assistant is opened, and again when its session ends.
   *
   * @param {Identify | null} prove null: nobody is signed in any more, and the assistant begins anew without a name
   */
  function identify(prove) {
    if (prove !== null && typeof prove !== "function")
      throw new TypeError("Passeur.identify: give a function that returns a token, or null");
    if (prove === identity) return;
    identity = prove;
    const widget = /** @type {PasseurWidget | null} */ (document.querySelector("passeur-widget"));
    if (widget?.frame) widget.load();
  }

  if (!customElements.get("passeur-widget")) customElements.define("passeur-widget", PasseurWidget);
  Object.assign(globalThis, { Passeur: { init, identify } });
  const key = script?.dataset.publicKey;
  if (key) {
    const { language, theme } = /** @type {Options} */ (/** @type {unknown} */ (script.dataset));
    const begin = () => init({ publicKey: key, language, theme });
    if (document.body) begin();
    else document.addEventListener("DOMContentLoaded", begin);
  }
})();
