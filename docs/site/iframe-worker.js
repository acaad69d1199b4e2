// Search without a server. Browsers refuse workers for pages that were opened from a folder, so the
// script of the worker runs in a hidden frame instead. Material for MkDocs asks for this class there.
"use strict";

if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #loaded;

    constructor(address) {
      super();
      const script = document.createElement("script");
      script.src = new URL(address, document.baseURI).href;
      // In a worker, `postMessage` answers the page; in a frame it would call the frame itself.
      const answer = "<script>postMessage = (data) => frameElement.answer(data)</" + "script>";
      this.#frame.hidden = true;
      this.#frame.srcdoc = answer + script.outerHTML;
      this.#frame.answer = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.#loaded = new Promise((done) => this.#frame.addEventListener("load", done));
      document.documentElement.append(this.#frame);
    }

    async postMessage(data) {
      await this.#loaded;
      this.#frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.#frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
