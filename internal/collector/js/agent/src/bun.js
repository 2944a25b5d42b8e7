export function installBun() {}
