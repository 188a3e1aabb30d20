// Package media lists and controls the media players of this desktop. On Linux it uses the players
// on the session bus (MPRIS 2.2). On macOS it controls Music and Spotify by osascript, because
// macOS 15.4 and later do not report other players. On Windows it controls the players registered
// with GlobalSystemMediaTransportControls, by PowerShell.
//
// Text from a player, including its name, is untrusted. Queries do not start players.
package media

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"hob/platform/host/osrun"
	"hob/platform/text/sorting"
	"hob/platform/text/textnorm"
)

// State is the playback state of a player.
type State string

// The states. Unknown includes all other states.
const (
	Playing State = "playing"
	Paused  State = "paused"
	Stopped State = "stopped"
	Unknown State = "unknown"
)

// Player is a running media player.
type Player struct {
	ID       string        `json:"id"`
	Name     string        `json:"name"`
	State    State         `json:"state"`
	Title    string        `json:"title,omitempty"`
	Artist   string        `json:"artist,omitempty"`
	Album    string        `json:"album,omitempty"`
	Length   time.Duration `json:"length_ns,omitempty"`
	Position time.Duration `json:"position_ns,omitempty"`
	// Volume is the player's volume from 0 to 100, or -1 if it is unknown.
	Volume int `json:"volume"`
}

// Action is an operation of a player.
type Action string

// The actions.
const (
	Play     Action = "play"
	Pause    Action = "pause"
	Toggle   Action = "toggle"
	Next     Action = "next"
	Previous Action = "previous"
	Stop     Action = "stop"
	Seek     Action = "seek"   // moves by Request.By
	Volume   Action = "volume" // sets Request.Level
)

// Actions returns all actions.
func Actions() []Action {
	return []Action{Play, Pause, Toggle, Next, Previous, Stop, Seek, Volume}
}

// Request is an action for a player.
type Request struct {
	Player string // id of the player
	Action Action
	By     time.Duration // distance for Seek; a negative distance seeks backwards
	Level  int           // level for Volume, 0 to 100
}

// Errors of a PlayerControl. Wrapping errors name the remedy.
var (
	// ErrGone means that the player no longer runs.
	ErrGone = errors.New("player no longer runs")
	// ErrUnable means that the player or the system does not support the action.
	ErrUnable = errors.New("player does not support this action")
	// ErrUnsure means that the action may have been performed despite the error.
	ErrUnsure = errors.New("outcome unknown: the player did not confirm the action")
)

// Options of a PlayerControl; the zero value is useful.
type Options struct {
	// Getenv is os.Getenv unless a test replaces it.
	Getenv func(string) string
	// Scripts runs osascript and PowerShell; nil creates a runner.
	Scripts osrun.Runner
	// Wait is the timeout for a player (default 2 s).
	Wait time.Duration
}

// PlayerControl controls the players of this machine. It is stateless; calls may be concurrent.
type PlayerControl struct{ back backend }

// backend accesses the players on one operating system.
type backend interface {
	// listPlayers returns the players that responded. why contains the errors of the others.
	listPlayers(ctx context.Context) (list []Player, why error)
	sendRequest(ctx context.Context, r Request) error
}

// New returns a PlayerControl. It does not connect yet.
func New(o Options) *PlayerControl {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Wait <= 0 {
		o.Wait = 2 * time.Second
	}
	if o.Scripts == nil {
		o.Scripts = osrun.NewScripts(osrun.Options{Getenv: o.Getenv})
	}
	return &PlayerControl{newBackend(o)}
}

// maxPlayers limits how many players are queried.
const maxPlayers = 16

// Players returns the running players; those that are playing come first. The list is empty if none
// is running. An error means that no player could be queried or, if the list is not empty, that
// some players did not respond.
func (d *PlayerControl) Players(ctx context.Context) ([]Player, error) {
	list, err := d.back.listPlayers(ctx)
	for i := range list {
		list[i].sanitizeFields()
	}
	sorting.StableByFunc(list, func(a, b Player) int { return cmp.Compare(playerRank(a), playerRank(b)) })
	return list, err
}

func playerRank(p Player) int {
	i := slices.Index([]State{Playing, Paused, Stopped}, p.State)
	if i < 0 {
		i = 3
	}
	if i > 0 && p.Title == "" { // the player has nothing to play
		i += 4
	}
	return i
}

// Do performs an action once and never retries it. Its errors wrap ErrUnsure if the player may have
// received the request.
func (d *PlayerControl) Do(ctx context.Context, r Request) error {
	if !slices.Contains(Actions(), r.Action) {
		return ErrUnable
	}
	r.Level = max(0, min(100, r.Level))
	return d.back.sendRequest(ctx, r)
}

// maxText limits the length of titles and names, in characters.
const maxText = 300

func (p *Player) sanitizeFields() {
	for _, s := range []*string{&p.Name, &p.Title, &p.Artist, &p.Album} {
		*s = sanitizeLine(*s)
	}
	if p.Name == "" {
		p.Name = p.ID
	}
	if p.Length < 0 || p.Length > 48*time.Hour {
		p.Length = 0
	}
	if p.Position < 0 || p.Length > 0 && p.Position > p.Length {
		p.Position = 0
	}
	if p.Volume < 0 || p.Volume > 100 {
		p.Volume = max(-1, min(100, p.Volume))
	}
}

// sanitizeLine returns one line of text without invisible and bidirectional control characters.
func sanitizeLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return textnorm.Ellipsize(strings.Join(strings.Fields(s), " "), maxText)
}

// stateOf parses a state in the spelling of any system.
func stateOf(s string) State {
	switch strings.ToLower(s) {
	case "playing", "fast forwarding", "rewinding":
		return Playing
	case "paused":
		return Paused
	case "stopped":
		return Stopped
	}
	return Unknown
}
