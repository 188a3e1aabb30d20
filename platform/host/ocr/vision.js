// Reads the text in a picture (Vision, VNRecognizeTextRequest, macOS 10.15). Level 0
// is the accurate one.
function main(r) {
  ObjC.import('Vision');
  var want = $.VNRecognizeTextRequest.alloc.init;
  want.recognitionLevel = 0;
  want.usesLanguageCorrection = true;
  try { want.automaticallyDetectsLanguage = true; } catch (e) { want.usesLanguageCorrection = true; }
  var picture = $.VNImageRequestHandler.alloc.initWithURLOptions($.NSURL.fileURLWithPath($(r.path)), $.NSDictionary.dictionary);
  var error = Ref();
  if (!picture.performRequestsError($.NSArray.arrayWithObject(want), error)) fail('invalid_input', 'macOS cannot read this picture');
  var lines = [], found = want.results;
  for (var i = 0; i < Number(found.count) && lines.length < 5000; i++) {
    var best = found.objectAtIndex(i).topCandidates(1);
    if (Number(best.count) > 0) lines.push(String(best.objectAtIndex(0).string.js));
  }
  return { lines: lines };
}
