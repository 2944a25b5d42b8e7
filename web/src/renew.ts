// What is shown of a session that runs is asked for again as it grows: never twice at once, and never so often that the
// daemon does nothing else.

/** Renewed is a view that can be asked for again. */
export interface Renewed { renew(): Promise<void> }

const least = 1000; // milliseconds between two questions, or five times what one takes

/** Renewer renews a view as often as it should. */
export class Renewer {
  private timer = 0;
  private again = false;
  private gone = false;

  constructor(private view: Renewed) {}

  /** grown says that there is more than is shown. */
  grown(): void {
    if (this.gone) return;
    if (this.timer) this.again = true;
    else this.run();
  }

  stop(): void {
    this.gone = true;
    clearTimeout(this.timer);
  }

  private async run(): Promise<void> {
    this.again = false;
    this.timer = -1; // under way
    const began = performance.now();
    try {
      await this.view.renew();
    } catch { /* the view has said it */ }
    if (this.gone) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      if (this.again) this.run();
    }, Math.max(least, 5 * (performance.now() - began)));
  }
}
