// Loads named.ts as tsx does: what esbuild has made of it runs under its name, on a line, with helpers before it.
const Module = require('module'), file = __dirname + '/named.ts';
const code = `(()=>{
var __defProp=Object.defineProperty;var __name=(target,value)=>__defProp(target,"name",{value,configurable:true});\
function double(n){return n*2}__name(double,"double");\
const tripled=__name(n=>n*3,"tripled");\
console.log(double(4),tripled(5));
})()`;
const map = { version: 3, sources: [file], names: [], mappings: ';kHACA,SAAS,OAAO,EAAmB,CAAE,OAAO,EAAI,CAAG,CAA1C,wBACT,MAAM,QAAU,OAAC,GAAsB,EAAI,EAA3B,WAChB,QAAQ,IAAI,OAAO,CAAC,EAAG,QAAQ,CAAC,CAAC' };
const text = Buffer.from(JSON.stringify(map)).toString('base64');
new Module(file)._compile(code + '\n//# sourceMappingURL=data:application/json;base64,' + text, file);
