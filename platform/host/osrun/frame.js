// What every script for JXA stands in. A script defines main(request), which
// returns what can be written as JSON. It has:
//   app(id, start)  the application, which runs; it is never started by asking
//   begin()         what follows has effects
//   fail(kind, text) ends the script, nothing having been done
//   get(f, other)   f(), or other where that throws (a property that is not there)
var began = false;

function run() {
  var answer;
  try {
    ObjC.import('Foundation');
    var data = $.NSFileHandle.fileHandleWithStandardInput.readDataToEndOfFile;
    var text = $.NSString.alloc.initWithDataEncoding(data, 4).js;
    answer = { ok: true, data: main(JSON.parse(text)) };
  } catch (e) {
    answer = { ok: false, number: Number(e.errorNumber) || 0, kind: e.kind || '', message: String(e.message || e), began: began && !e.kind };
  }
  return JSON.stringify(answer).replace(/[\u007f-\uffff]/g, function (c) {
    return '\\u' + ('000' + c.charCodeAt(0).toString(16)).slice(-4);
  });
}

function begin() { began = true; }

function fail(kind, text) {
  var e = new Error(text);
  e.kind = kind;
  throw e;
}

function app(id) {
  var a;
  try {
    a = Application(id);
  } catch (e) {
    fail('not_installed', id);
  }
  if (!a.running()) fail('not_running', id);
  return a;
}

function get(f, other) {
  try {
    var v = f();
    return v === undefined || v === null ? other : v;
  } catch (e) {
    // A refusal or an app that does not answer is not a property that is missing.
    var n = Number(e.errorNumber);
    if (n === -1743 || n === -1712 || n === -600 || n === -609) throw e;
    return other;
  }
}
