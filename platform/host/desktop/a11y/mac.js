// What the scripts about windows share. System Events has an Apple event for each
// question: they ask for all elements of one box at once, and never for all of a
// window (entireContents), which hangs on browsers.
var MOST = 500; // characters of a text

function short(v) {
  return v === null || v === undefined || typeof v === 'object' || typeof v === 'function' ? '' : String(v).slice(0, MOST);
}

// told is f(), or other where that is not there. That macOS refuses is told on: an
// empty window and one that nobody may look at are two things.
function told(refusals, f, other) {
  var refused = null;
  var v = get(function () {
    try { return f(); } catch (e) {
      if (refusals.indexOf(Number(e.errorNumber)) >= 0) refused = e;
      throw e;
    }
  }, other);
  if (refused) throw refused;
  return v;
}

function processes(se, pid) { return se.processes.whose({ unixId: pid }); }

// Roles that hold nothing which would be of use.
var LEAVES = ['AXButton', 'AXStaticText', 'AXTextField', 'AXTextArea', 'AXCheckBox', 'AXRadioButton', 'AXImage', 'AXPopUpButton', 'AXMenuButton', 'AXSlider', 'AXLink', 'AXScrollBar', 'AXValueIndicator'];
var FIELDS = ['AXTextField', 'AXTextArea', 'AXComboBox', 'AXSearchField'];
var ACTIONS = ['AXPress', 'AXPick', 'AXConfirm', 'AXOpen'];

function secret(role, subrole) { return subrole === 'AXSecureTextField' || role === 'AXSecureTextField'; }

function does(actions) {
  var list = ACTIONS.filter(function (a) { return (actions || []).indexOf(a) >= 0; });
  return list.length ? list[0].slice(2).toLowerCase() : '';
}

function named(name, description) { return short(name) || short(description); }
