// No inference: the bars of the prior, for models beyond what a page can hold.
import { ENGINES, unpack } from "./arrays.js";

class StillEngine {
  constructor(spec) {
    this.cards = unpack(spec.cards);
    this.still = spec.reason;
    this.marginals = spec.marginals.map((p) => (p ? unpack(p) : null));
  }

  run() {
    return { marginals: this.marginals, logEvidence: null };
  }
}
ENGINES.still = StillEngine;
