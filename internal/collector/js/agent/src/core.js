// What the agent needs once a file of the user's is loaded: kept apart from its beginning (agent.js), which every process
// pays for.
export { Files } from './files.js';
export { Link } from './link.js';
export { Recorder } from './recorder.js';
export { Stream, clock, kinds } from './segments.js';
export { watchCrashes } from './crash.js';
export { keepStacks, keepText, namer } from './disguise.js';
export { useNames } from './values.js';
