// Tells how loud the output is, or changes it (Standard Additions). The first
// argument of setVolume has to be there, and null. An output that has no volume,
// such as HDMI, has null for it.
function main(r) {
  var a = Application.currentApplication();
  a.includeStandardAdditions = true;
  if (r.percent !== undefined) {
    begin();
    a.setVolume(null, { outputVolume: r.percent });
  }
  if (r.mute !== undefined) {
    begin();
    a.setVolume(null, { outputMuted: r.mute });
  }
  var s = a.getVolumeSettings();
  return { percent: s.outputVolume === null || s.outputVolume === undefined ? null : Number(s.outputVolume), muted: String(s.outputMuted) === 'true' };
}
