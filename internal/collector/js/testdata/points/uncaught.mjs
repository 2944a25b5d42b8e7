function check(n) {
  if (n < 0) {
    throw new RangeError(`bad ${n}`);
  }
  return n;
}

function tries(n) {
  try {
    return check(n);
  } catch {
    return 0;
  }
}

async function later(n) {
  await null;
  return check(n);
}

tries(-1);
await later(-2).catch(() => {});
setTimeout(() => check(-3), 1);
