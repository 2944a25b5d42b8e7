// What answers a question that cannot be answered: an error with a code (docs/agentlink.md, Points).
export function fault(code, message) { return Object.assign(new Error(message), { code }); }
export function cannot(message) { return fault('cannot', message); }
export function notPaused(message) { return fault('not-paused', message); }

export const inspectorIsOpen = 'the program\'s inspector is open (--inspect), and two debuggers would let go on what the other one has paused: run it without';
