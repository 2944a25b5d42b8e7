// The heavy half of the agent, loaded with the first user file that no cache has: parser, transformer, source maps.
import { transform } from './transform.js';
import * as sourcemap from './sourcemap.js';

export { identity } from './sourcemap.js';
export { parse } from './transform.js';

// instrument gives {code, meta} of a text, or null where nothing in it can be recorded. How: file, language (a path
// whose ending says what the text is now), sourceType, key, finallyMode, wrapped, maps: the program shows positions by
// source maps.
export function instrument(text, how) {
  const map = sourcemap.read(text, how.file);
  const made = transform(text, {
    file: map ? how.file.replace(/\.([cm]?)ts(x?)$/, '.$1js$2') : how.language, sourceType: how.sourceType, key: how.key,
    finallyMode: how.finallyMode, wrapped: how.wrapped, original: map ? (line, column) => map.original(line, column) : undefined,
  });
  if (made === null) return null;
  let code = made.code;
  // The comment makes Node ask for a map when the program dies (crash.js).
  if (!how.maps) code += sourcemap.names(text) ? '' : '\n//# sourceMappingURL=data:application/json,{}';
  else code = map ? map.shifted(text, code, made.edits) : sourcemap.withIdentity(text, code, made.edits, how.file);
  return {
    code,
    meta: { functions: made.functions, classes: made.classes, edits: made.edits.flat(), unhookable: made.unhookable, constants: made.constants, module: made.sourceType === 'module', codeLength: made.code.length,
      map: map ? how.maps ? 'moved' : 'own' : undefined, bundled: map !== null && map.sources.length > 1 || undefined },
  };
}
