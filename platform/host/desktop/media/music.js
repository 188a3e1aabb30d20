// Tells what Music or Spotify plays, or presses one of its buttons. Both have the
// same words (their dictionaries in Script Editor), but Spotify tells a track's
// length in milliseconds and has no "stop".
function main(r) {
  var a = app(r.id);
  var spotify = r.id === 'com.spotify.client';
  if (r.action) {
    if (r.action === 'stop' && spotify) fail('unsupported', 'Spotify has no stop, only a pause');
    begin();
    switch (r.action) {
      case 'play': a.play(); break;
      case 'pause': a.pause(); break;
      case 'toggle': a.playpause(); break;
      case 'next': a.nextTrack(); break;
      case 'previous': a.previousTrack(); break;
      case 'stop': a.stop(); break;
      case 'seek': a.playerPosition = Math.max(0, Number(get(function () { return a.playerPosition(); }, 0)) + r.by); break;
      case 'volume': a.soundVolume = r.level; break;
    }
    return {};
  }
  var state = String(a.playerState());
  var t = a.currentTrack;
  var length = Number(get(function () { return t.duration(); }, 0));
  return {
    state: state,
    title: String(get(function () { return t.name(); }, '')),
    artist: String(get(function () { return t.artist(); }, '')),
    album: String(get(function () { return t.album(); }, '')),
    length: spotify ? length / 1000 : length,
    position: Number(get(function () { return a.playerPosition(); }, 0)),
    volume: Number(get(function () { return a.soundVolume(); }, -1))
  };
}
