// What runs without an editor, for tests that have node alone.

export * from "./binary";
export * from "./beside";
export * from "./daemon";
export * from "./page";
export * from "./program";
export * from "./testmodel";
export * from "./values";
