package media

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hob/platform/host/desktop/media"
	"hob/platform/host/desktop/session"
	"hob/platform/host/osrun"
	"hob/platform/host/system/sound"
	"hob/platform/provenance"
	"hob/tools"
)

// fakePlayers is a fake PlayerControl with a list of players.
type fakePlayers struct {
	list []media.Player
	err  error
	fail error
	done []media.Request
}

func (d *fakePlayers) Players(context.Context) ([]media.Player, error) {
	return append([]media.Player(nil), d.list...), d.err
}

func (d *fakePlayers) Do(_ context.Context, r media.Request) error {
	d.done = append(d.done, r)
	for i := range d.list {
		if d.list[i].ID != r.Player || d.fail != nil {
			continue
		}
		switch r.Action {
		case media.Pause:
			d.list[i].State = media.Paused
		case media.Play:
			d.list[i].State = media.Playing
		case media.Volume:
			d.list[i].Volume = r.Level
		}
	}
	return d.fail
}

func callTool(t *testing.T, x tools.Tool, args string) (tools.Result, error) {
	t.Helper()
	return x.Call(t.Context(), tools.Call{Args: json.RawMessage(args)})
}

// "Nothing is playing" and a failed lookup are different answers.
func TestStatus_DistinguishesSilenceAndFailure(t *testing.T) {
	hung := errors.New("the player x did not answer")
	for name, tc := range map[string]struct {
		deck fakePlayers
		want string
		code tools.Code
		// theirs is true if the error may contain text of a player.
		theirs bool
	}{
		"no player":                {fakePlayers{}, "Nothing is playing: no media player is running.", "", false},
		"stopped":                  {fakePlayers{list: []media.Player{{ID: "vlc", Name: "VLC", State: media.Stopped}}}, "Nothing is playing.", "", false},
		"no session":               {fakePlayers{err: fmt.Errorf("%w: x", session.ErrNone)}, "", tools.Unsupported, false},
		"a player hangs":           {fakePlayers{err: hung}, "", tools.Failed, true},
		"one of two players hangs": {fakePlayers{list: []media.Player{{ID: "vlc", Name: "VLC", State: media.Stopped}}, err: hung}, "(Another player did not respond.)", "", false},
		"not allowed (Mac)":        {fakePlayers{err: &osrun.Error{Kind: osrun.Denied, Cause: "macOS has not let Hob use it"}}, "", tools.Failed, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := callTool(t, Deps{Player: &tc.deck}.currentTrack(), `{}`)
			if tc.code != "" {
				_, pressing := callTool(t, Deps{Player: &tc.deck}.controlTool(), `{"action":"pause"}`)
				for _, err := range []error{err, pressing} {
					if tools.CodeOf(err) != tc.code || tools.SourceOf(err).Tainted() != tc.theirs {
						t.Errorf("%v, source %s", err, tools.SourceOf(err))
					}
				}
				return
			}
			if err != nil || !strings.Contains(r.Text, tc.want) {
				t.Errorf("%s, %v", r.Text, err)
			}
		})
	}
}

func TestControl(t *testing.T) {
	two := func() *fakePlayers {
		return &fakePlayers{list: []media.Player{{ID: "spotify", Name: "Spotify", State: media.Playing, Volume: 50}, {ID: "vlc", Name: "VLC", State: media.Paused, Volume: -1}}}
	}
	for name, tc := range map[string]struct {
		args, want string
		code       tools.Code
		done       media.Request
	}{
		"the active player": {`{"action":"pause"}`, "Paused.", "", media.Request{Player: "spotify", Action: media.Pause}},
		"by name":           {`{"action":"play","player":"vl"}`, "It is playing.", "", media.Request{Player: "vlc", Action: media.Play}},
		"back ten seconds":  {`{"action":"seek","amount":-10}`, "Moved by -10 seconds", "", media.Request{Player: "spotify", Action: media.Seek, By: -10e9}},
		"its volume":        {`{"action":"volume","amount":30}`, "volume is 30%", "", media.Request{Player: "spotify", Action: media.Volume, Level: 30}},
		"another word":      {`{"action":"explode"}`, "", tools.InvalidArguments, media.Request{}},
		"a volume of 256":   {`{"action":"volume","amount":256}`, "", tools.InvalidArguments, media.Request{}},
		"an unknown name":   {`{"action":"pause","player":"winamp"}`, "", tools.NotFound, media.Request{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := two()
			r, err := callTool(t, Deps{Player: d}.controlTool(), tc.args)
			if tc.code != "" {
				if tools.CodeOf(err) != tc.code || len(d.done) > 0 {
					t.Errorf("%v, pressed %v", err, d.done)
				}
				if tc.code == tools.NotFound && !tools.SourceOf(err).Tainted() {
					t.Error("names of players count as trusted text")
				}
				return
			}
			if err != nil || !strings.Contains(r.Text, tc.want) || len(d.done) != 1 || d.done[0] != tc.done || r.Source == provenance.Outside {
				t.Errorf("%+v, %v, pressed %+v", r, err, d.done)
			}
		})
	}
}

// A command that a player may have received is sent once and reported as unknown.
func TestControl_UnknownOutcome(t *testing.T) {
	d := &fakePlayers{list: []media.Player{{ID: "vlc", Name: "VLC", State: media.Playing}}, fail: media.ErrUnsure}
	if _, err := callTool(t, Deps{Player: d}.controlTool(), `{"action":"next"}`); tools.CodeOf(err) != tools.OutcomeUnknown || len(d.done) != 1 {
		t.Errorf("%v, pressed %d times", err, len(d.done))
	}
}

func TestUndo(t *testing.T) {
	d := &fakePlayers{list: []media.Player{{ID: "vlc", Name: "VLC", State: media.Playing, Volume: 50}}}
	x := Deps{Player: d}.controlTool()
	r, err := callTool(t, x, `{"action":"pause"}`)
	if err != nil || r.Undo == nil {
		t.Fatal(r, err)
	}
	undo := x.(tools.Undoer).Undo
	if _, err := undo(t.Context(), r.Undo.Data); err != nil || d.list[0].State != media.Playing {
		t.Errorf("%v, %s", err, d.list[0].State)
	}
	if _, err := undo(t.Context(), r.Undo.Data); tools.CodeOf(err) != tools.Conflict { // the state has changed since the call
		t.Errorf("used since: %v", err)
	}
	d.list = nil
	if _, err := undo(t.Context(), r.Undo.Data); tools.CodeOf(err) != tools.Conflict {
		t.Errorf("undo after the player ended = %v", err)
	}
}

// fakeMixer is a fake Mixer.
type fakeMixer struct{ sound.Level }

func (l *fakeMixer) Set(_ context.Context, percent int) (sound.Level, error) {
	l.Percent = percent
	return l.Level, nil
}

func (l *fakeMixer) Mute(_ context.Context, on bool) (sound.Level, error) {
	l.Muted = on
	return l.Level, nil
}

type mixer struct{ l *fakeMixer }

func (m mixer) Level(context.Context) (sound.Level, error)             { return m.l.Level, nil }
func (m mixer) Set(ctx context.Context, n int) (sound.Level, error)    { return m.l.Set(ctx, n) }
func (m mixer) Mute(ctx context.Context, on bool) (sound.Level, error) { return m.l.Mute(ctx, on) }

func TestVolume(t *testing.T) {
	l := &fakeMixer{sound.Level{Percent: 40}}
	x := Deps{Mixer: mixer{l}}.setVolume()
	for _, bad := range []string{`{}`, `{"level":256}`, `{"level":-1}`, `{"level":5,"by":5}`, `{"by":300}`} {
		if j := tools.JudgmentOf(t.Context(), x, json.RawMessage(bad)); j.Refused == nil {
			t.Errorf("%s is not refused", bad)
		}
		if _, err := callTool(t, x, bad); tools.CodeOf(err) != tools.InvalidArguments || l.Percent != 40 {
			t.Errorf("%s: %v, %d", bad, err, l.Percent)
		}
	}
	r, err := callTool(t, x, `{"by":100,"mute":true}`)
	if err != nil || l.Level != (sound.Level{Percent: 100, Muted: true}) {
		t.Errorf("%+v, %v", l.Level, err)
	}
	undo := x.(tools.Undoer).Undo
	if text, err := undo(t.Context(), r.Undo.Data); err != nil || l.Level != (sound.Level{Percent: 40}) || text != "Restored: the volume is 40%." {
		t.Errorf("%s, %+v, %v", text, l.Level, err)
	}
	if _, err := undo(t.Context(), r.Undo.Data); tools.CodeOf(err) != tools.Conflict {
		t.Errorf("changed since: %v", err)
	}
}
