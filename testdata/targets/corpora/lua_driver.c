// Runs the Lua script named by the first argument with the standard libraries.
#include <stdio.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

int main(int argc, char **argv) {
	lua_State *L = luaL_newstate();
	if (argc < 2 || !L) return 2;
	luaL_openlibs(L);
	int bad = luaL_dofile(L, argv[1]);
	if (bad) fprintf(stderr, "%s\n", lua_tostring(L, -1));
	printf("gc=%d\n", lua_gc(L, LUA_GCCOUNT, 0) > 0);
	lua_close(L);
	return bad != 0;
}
