package media

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"sync"
	"time"

	"hob/platform/host/osrun"
)

var (
	//go:embed music.js
	musicText string
	//go:embed smtc.ps1
	smtcText string
)

func musicScript() osrun.Script { return osrun.NewScript("desktop/media/music.js", musicText) }

func smtcScript() osrun.Script { return osrun.NewScript("desktop/media/smtc.ps1", smtcText) }

// scriptRequest is the input of both scripts.
type scriptRequest struct {
	ID     string  `json:"id,omitempty"`
	Action Action  `json:"action,omitempty"` // "" only reads the state
	By     float64 `json:"by,omitempty"`     // seconds
	Level  int     `json:"level"`
}

// scriptPlayer is a player in the output of both scripts; times are in seconds.
type scriptPlayer struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	State    string   `json:"state"`
	Title    string   `json:"title"`
	Artist   string   `json:"artist"`
	Album    string   `json:"album"`
	Length   float64  `json:"length"`
	Position float64  `json:"position"`
	Volume   *float64 `json:"volume"`
}

func (s scriptPlayer) toPlayer() Player {
	p := Player{ID: s.ID, Name: s.Name, State: stateOf(s.State), Title: s.Title, Artist: s.Artist, Album: s.Album, Length: durationSeconds(s.Length), Position: durationSeconds(s.Position), Volume: -1}
	if s.Volume != nil && *s.Volume >= 0 && *s.Volume <= 100 {
		p.Volume = int(*s.Volume + 0.5)
	}
	return p
}

// durationSeconds converts a time in seconds. It returns 0 for invalid values.
func durationSeconds(s float64) time.Duration {
	if s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	return 0
}

// macBackend controls the macOS players that have a scripting dictionary.
type macBackend struct{ scripts osrun.Runner }

func macApps() []osrun.App {
	return []osrun.App{{ID: "com.apple.Music", Name: "Music"}, {ID: "com.spotify.client", Name: "Spotify"}}
}

// listPlayers implements backend. An app that is not installed or not running has no player, which
// is not an error.
func (m macBackend) listPlayers(ctx context.Context) (list []Player, why error) {
	apps := macApps()
	found, errs := make([]*scriptPlayer, len(apps)), make([]error, len(apps))
	var work sync.WaitGroup
	for i, a := range apps {
		work.Go(func() {
			var p scriptPlayer
			err := m.scripts.Run(ctx, osrun.Call{Script: musicScript(), App: a, In: scriptRequest{ID: a.ID}}, &p)
			switch osrun.KindOf(err) {
			case osrun.NotInstalled, osrun.NotRunning:
				return
			}
			if errs[i] = err; err == nil {
				p.ID, p.Name = a.ID, a.Name
				found[i] = &p
			}
		})
	}
	work.Wait()
	for _, p := range found {
		if p != nil {
			list = append(list, p.toPlayer())
		}
	}
	return list, errors.Join(errs...)
}

func (m macBackend) sendRequest(ctx context.Context, r Request) error {
	for _, a := range macApps() {
		if a.ID == r.Player {
			return scriptError(m.scripts.Run(ctx, osrun.Call{Script: musicScript(), App: a, In: requestOf(r), Write: true}, nil))
		}
	}
	return ErrGone
}

func requestOf(r Request) scriptRequest {
	return scriptRequest{ID: r.Player, Action: r.Action, By: r.By.Seconds(), Level: r.Level}
}

// windowsBackend controls the players that are registered with Windows.
type windowsBackend struct{ scripts osrun.Runner }

func (w windowsBackend) listPlayers(ctx context.Context) ([]Player, error) {
	var a struct {
		Players []scriptPlayer `json:"players"`
	}
	if err := w.scripts.Run(ctx, osrun.Call{Script: smtcScript(), In: scriptRequest{}}, &a); err != nil {
		return nil, scriptError(err)
	}
	var list []Player
	for _, p := range a.Players[:min(maxPlayers, len(a.Players))] {
		list = append(list, p.toPlayer())
	}
	return list, nil
}

func (w windowsBackend) sendRequest(ctx context.Context, r Request) error {
	if r.Action == Volume {
		return fmt.Errorf("%w: Windows does not control the volume of single players; set the volume of the machine", ErrUnable)
	}
	return scriptError(w.scripts.Run(ctx, osrun.Call{Script: smtcScript(), In: requestOf(r), Write: true}, nil))
}

// scriptError wraps an error with this package's sentinel.
func scriptError(err error) error {
	switch {
	case err == nil:
		return nil
	case osrun.IsUncertain(err):
		return fmt.Errorf("%w: %w", ErrUnsure, err)
	case osrun.KindOf(err) == osrun.NotFound, osrun.KindOf(err) == osrun.NotRunning, osrun.KindOf(err) == osrun.NotInstalled:
		return fmt.Errorf("%w: %w", ErrGone, err)
	case osrun.KindOf(err) == osrun.Unsupported:
		return fmt.Errorf("%w: %w", ErrUnable, err)
	}
	return err
}
