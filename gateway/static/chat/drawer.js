// @ts-check
/** The list of conversations as a drawer where there is no room beside: what is behind cannot be reached meanwhile. */

/** Narrower than this the list is a drawer; the style sheet says the same. */
const NARROW = "(max-width: 52rem)";

export class Drawer {
  /**
   * @param {HTMLElement} panel
   * @param {HTMLButtonElement} button
   * @param {HTMLElement} behind
   */
  constructor(panel, button, behind) {
    this.panel = panel;
    this.button = button;
    this.behind = behind;
    this.narrow = matchMedia(NARROW);
    button.addEventListener("click", () => (this.isOpen ? this.close() : this.open()));
    this.narrow.addEventListener("change", () => this.#settle(false));
    panel.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !(event.target instanceof Element && event.target.closest("dialog"))) this.close();
    });
    panel.addEventListener("click", (event) => {
      if (event.target === panel) this.close(); // the shade beside the drawer
    });
    this.#settle(false);
  }

  get isOpen() {
    return this.panel.hasAttribute("data-open");
  }

  open() {
    if (!this.narrow.matches) return;
    this.#settle(true);
    this.panel.querySelector("button")?.focus();
  }

  close() {
    if (!this.isOpen) return;
    this.#settle(false);
    this.button.focus();
  }

  /** @param {boolean} open */
  #settle(open) {
    this.panel.toggleAttribute("data-open", open);
    this.panel.inert = this.narrow.matches && !open;
    this.behind.inert = open;
    this.button.setAttribute("aria-expanded", String(open));
  }
}
