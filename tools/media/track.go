package media

import (
	"context"
	"fmt"
	"strings"
	"time"

	"hob/platform/host/desktop/media"
	"hob/platform/provenance"
	"hob/tools"
)

type trackIn struct{}

// trackOut is the Data of get_current_track.
type trackOut struct {
	Players []media.Player `json:"players"`
	// Partial is true if a player did not respond.
	Partial bool `json:"partial,omitempty"`
}

func (d Deps) currentTrack() tools.Tool {
	return tools.New(tools.Def[trackIn]{
		Spec: tools.Spec{
			Name: "get_current_track", Category: "media", Effects: tools.Read,
			Description: "Say which song, video or podcast is playing, and in which player.",
			Keywords:    "music song title artist album playing now track listening spotify video podcast what plays",
		},
		Summary: func(trackIn) string { return "Show what is playing" },
		Run: func(ctx context.Context, _ tools.Call, _ trackIn) (tools.Result, error) {
			list, err := d.Player.Players(ctx)
			if len(list) == 0 && err != nil {
				return tools.Result{}, classifyPlayerError(err)
			}
			if list == nil {
				list = []media.Player{}
			}
			r := tools.Result{Source: provenance.Tool, Text: describeTracks(list), Data: trackOut{list, err != nil}}
			if len(list) > 0 { // the titles and names come from the players
				r.Source, r.Origins = provenance.Outside, []provenance.Origin{{Kind: "music"}}
			}
			if err != nil {
				r.Text += "\n(Another player did not respond.)"
			}
			return r, nil
		},
	})
}

// describeTracks describes what is playing.
func describeTracks(list []media.Player) string {
	var playing, held []string
	for _, p := range list {
		switch {
		case p.State == media.Playing:
			playing = append(playing, "- "+describeTrack(p))
		case p.Title != "" && p.State == media.Paused:
			held = append(held, "- "+describeTrack(p))
		}
	}
	switch {
	case len(list) == 0:
		return "Nothing is playing: no media player is running."
	case len(playing) == 1:
		return "Playing: " + strings.TrimPrefix(playing[0], "- ")
	case len(playing) > 1:
		return "Playing:\n" + strings.Join(playing, "\n")
	case len(held) > 0:
		return "Nothing is playing. Paused:\n" + strings.Join(held, "\n")
	}
	return "Nothing is playing."
}

func describeTrack(p media.Player) string {
	var b strings.Builder
	title := p.Title
	if title == "" {
		title = "(unknown title)"
	}
	b.WriteString(title)
	if p.Artist != "" {
		b.WriteString(" by " + p.Artist)
	}
	if p.Album != "" && p.Album != p.Title {
		b.WriteString(", from " + p.Album)
	}
	fmt.Fprintf(&b, " (%s", p.Name)
	switch {
	case p.Length > 0 && p.Position > 0:
		fmt.Fprintf(&b, ", %s of %s", formatPlayTime(p.Position), formatPlayTime(p.Length))
	case p.Length > 0:
		fmt.Fprintf(&b, ", %s", formatPlayTime(p.Length))
	}
	return b.String() + ")"
}

// formatPlayTime formats a playing time as players do.
func formatPlayTime(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
