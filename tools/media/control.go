package media

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/platform/host/desktop/media"
	"hob/platform/host/desktop/session"
	"hob/platform/provenance"
	"hob/platform/retry"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type controlIn struct {
	Action string `json:"action" jsonschema:"play, pause, toggle, next, previous, stop, seek or volume"`
	Player string `json:"player,omitempty" jsonschema:"its name, if several are running"`
	Amount int    `json:"amount,omitempty" jsonschema:"seek: seconds, negative goes back; volume: 0-100"`
}

// controlOut is the Data of music_control.
type controlOut struct {
	Action media.Action `json:"action"`
	State  media.State  `json:"state"`
}

// controlUndo contains the state that a command changed.
type controlUndo struct {
	Player string       `json:"player"`
	Action media.Action `json:"action"` // command that reverts the change
	Level  int          `json:"level,omitempty"`
	After  media.State  `json:"after"`
	Was    int          `json:"was,omitempty"` // volume before the change
}

// Limits for polling the player's state after a command. Most players report a change with a delay.
const (
	looks   = 6
	between = 100 * time.Millisecond
)

func (d Deps) controlTool() tools.Tool {
	return tools.New(tools.Def[controlIn]{
		Spec: tools.Spec{
			Name: "music_control", Category: "media", Effects: tools.Write,
			Description: "Play, pause, stop or skip music and videos, jump within them, or set a player's own volume.",
			Keywords:    "song track next previous stop resume continue player playback play pause skip forward rewind spotify music",
		},
		Summary: func(in controlIn) string {
			return strings.TrimSpace("Music: " + textnorm.Ellipsize(in.Action, 20) + " " + textnorm.Ellipsize(in.Player, 60))
		},
		Judge: func(_ context.Context, in controlIn) tools.CallAssessment {
			_, err := parseAction(in)
			return tools.CallAssessment{Refused: err}
		},
		Run:  d.runControl,
		Undo: d.undoControl,
	})
}

// parseAction parses the requested action.
func parseAction(in controlIn) (media.Action, error) {
	a := media.Action(strings.ToLower(strings.TrimSpace(in.Action)))
	switch a {
	case "resume", "continue":
		a = media.Play
	case "skip":
		a = media.Next
	case "playpause", "play_pause":
		a = media.Toggle
	}
	switch {
	case !slices.Contains(media.Actions(), a):
		return "", tools.Errorf(tools.InvalidArguments, "action must be play, pause, toggle, next, previous, stop, seek or volume, not %q", tools.Clean(textnorm.Ellipsize(in.Action, 40)))
	case a == media.Seek && (in.Amount == 0 || in.Amount > 86_400 || in.Amount < -86_400):
		return "", tools.Errorf(tools.InvalidArguments, "seek requires an amount in seconds")
	case a == media.Volume && (in.Amount < 0 || in.Amount > 100):
		return "", tools.Errorf(tools.InvalidArguments, "the volume must be 0 to 100")
	}
	return a, nil
}

func (d Deps) runControl(ctx context.Context, _ tools.Call, in controlIn) (tools.Result, error) {
	a, err := parseAction(in)
	if err != nil {
		return tools.Result{}, err
	}
	list, err := d.Player.Players(ctx)
	if len(list) == 0 {
		if err != nil {
			return tools.Result{}, classifyPlayerError(err)
		}
		return tools.Result{}, &tools.Error{Source: provenance.Tool, Code: tools.NotFound, Message: "no media player is running", Remedy: "open one first"}
	}
	p, err := choosePlayer(list, in.Player)
	if err != nil {
		return tools.Result{}, err
	}
	press := media.Request{Player: p.ID, Action: a}
	switch a {
	case media.Seek:
		press.By = time.Duration(in.Amount) * time.Second
	case media.Volume:
		press.Level = in.Amount
	}
	if err := d.Player.Do(ctx, press); err != nil {
		return tools.Result{}, outsideError(classifyError(err))
	}
	now := d.awaitPlayerState(ctx, p, a)
	r := tools.Result{Source: provenance.Tool, Text: describeOutcome(a, p, now, in.Amount), Data: controlOut{a, now.State}}
	if u, ok := undoFor(a, p, now, in.Amount); ok {
		r.Undo = tools.NewUndo("restore the state of the player", u)
	}
	return r, nil
}

// classifyPlayerError classifies an error of a player. The error is untrusted because it may quote
// the player, except for the error for a missing desktop, which is Hob's own text.
func classifyPlayerError(err error) error {
	if errors.Is(err, session.ErrNone) {
		return classifyError(err)
	}
	return outsideError(classifyError(err))
}

// outsideError marks an error as untrusted because it quotes a player.
func outsideError(err error) error { return tools.Quoting(err, provenance.Outside) }

// choosePlayer returns the named player or, without a name, the player that is playing or played
// last.
func choosePlayer(list []media.Player, name string) (media.Player, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == "" {
		return list[0], nil
	}
	var names []string
	for _, p := range list {
		if strings.Contains(strings.ToLower(p.Name), name) || strings.Contains(strings.ToLower(p.ID), name) {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return media.Player{}, outsideError(tools.Errorf(tools.NotFound, "no player with that name is running; running players: %s", tools.Clean(strings.Join(names, ", "))))
}

// awaitPlayerState returns the player once it reports the requested state, or its current state after
// the time limit.
func (d Deps) awaitPlayerState(ctx context.Context, was media.Player, a media.Action) media.Player {
	now := was
	for range looks {
		list, _ := d.Player.Players(ctx) // ignore the error: the outcome is known, and the list only adds the state
		i := slices.IndexFunc(list, func(p media.Player) bool { return p.ID == was.ID })
		if i >= 0 {
			now = list[i]
		}
		if i < 0 || hasReached(a, was, now) {
			return now
		}
		if retry.Sleep(ctx, between) != nil {
			return now
		}
	}
	return now
}

func hasReached(a media.Action, was, now media.Player) bool {
	switch a {
	case media.Play:
		return now.State == media.Playing
	case media.Pause:
		return now.State != media.Playing
	case media.Stop:
		return now.State == media.Stopped
	case media.Toggle:
		return now.State != was.State
	case media.Next, media.Previous:
		return now.Title != was.Title
	}
	return true
}

// describeOutcome describes the outcome without text from the player.
func describeOutcome(a media.Action, was, now media.Player, amount int) string {
	switch {
	case a == media.Seek:
		return "Moved by " + fmt.Sprint(amount) + " seconds."
	case a == media.Volume:
		return fmt.Sprintf("The player's volume is %d%%.", amount)
	case (a == media.Next || a == media.Previous) && hasReached(a, was, now):
		return map[media.Action]string{media.Next: "Skipped to the next track.", media.Previous: "Went back to the previous track."}[a]
	case a == media.Next || a == media.Previous:
		return "The player accepted the command, but still reports the same track."
	case !hasReached(a, was, now):
		return fmt.Sprintf("The player accepted the command, but reports that it is %s.", now.State)
	case now.State == media.Playing:
		return "It is playing."
	case now.State == media.Paused:
		return "Paused."
	}
	return "Stopped."
}

// undoFor returns the undo data of a command.
func undoFor(a media.Action, was, now media.Player, amount int) (controlUndo, bool) {
	u := controlUndo{Player: was.ID, After: now.State}
	switch {
	case a == media.Volume && was.Volume >= 0:
		u.Action, u.Level, u.Was = media.Volume, was.Volume, amount
	case was.State == now.State:
		return u, false
	case was.State == media.Playing:
		u.Action = media.Play
	case now.State == media.Playing:
		u.Action = media.Pause
	default:
		return u, false
	}
	return u, true
}

func (d Deps) undoControl(ctx context.Context, data json.RawMessage) (string, error) {
	var u controlUndo
	if err := json.Unmarshal(data, &u); err != nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	list, err := d.Player.Players(ctx)
	i := slices.IndexFunc(list, func(p media.Player) bool { return p.ID == u.Player })
	switch {
	case i < 0 && err != nil:
		return "", classifyPlayerError(err)
	case i < 0:
		return "", tools.Errorf(tools.Conflict, "the player is no longer running")
	case u.Action == media.Volume && list[i].Volume != u.Was, u.Action != media.Volume && list[i].State != u.After:
		return "", tools.Errorf(tools.Conflict, "the player was used in the meantime")
	}
	if err := d.Player.Do(ctx, media.Request{Player: u.Player, Action: u.Action, Level: u.Level}); err != nil {
		return "", outsideError(classifyError(err))
	}
	return "Restored the state of the player.", nil
}
