// Package media provides tools for sound and pictures: music players, volume, speech and text
// recognition. platform/host/desktop and platform/host/system implement these functions for each
// system; this package defines the tools' arguments and effects.
package media

import (
	"context"
	"errors"

	"hob/platform/host/desktop/media"
	"hob/platform/host/desktop/session"
	"hob/platform/host/osrun"
	"hob/platform/host/system/sound"
	"hob/tools"
)

// PlayerControl controls the players of this machine; *media.PlayerControl implements it.
type PlayerControl interface {
	Players(ctx context.Context) ([]media.Player, error)
	Do(ctx context.Context, r media.Request) error
}

// Deps are the dependencies of the tools. The tools of nil fields are omitted.
type Deps struct {
	Player PlayerControl
	Mixer  Mixer
	Voice  Voice
	// Reader requires Picture, which reads a file that Hob may access.
	Reader  Reader
	Picture func(ctx context.Context, path string) ([]byte, error)
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	var out []tools.Tool
	if d.Player != nil {
		out = append(out, d.currentTrack(), d.controlTool())
	}
	if d.Mixer != nil {
		out = append(out, d.getVolume(), d.setVolume())
	}
	if d.Voice != nil {
		out = append(out, d.speakTool())
	}
	if d.Reader != nil && d.Picture != nil {
		out = append(out, d.imageText())
	}
	return out
}

// classifyError classifies an error of the platform.
func classifyError(err error) error {
	switch kind := osrun.KindOf(err); {
	case err == nil:
		return nil
	case errors.Is(err, media.ErrUnsure), osrun.IsUncertain(err):
		return tools.Errorf(tools.OutcomeUnknown, "%w", err)
	case errors.Is(err, session.ErrNone): // the wrapping text is Hob's own
		return tools.Errorf(tools.Unsupported, "%w", tools.CleanErr(err))
	case errors.Is(err, media.ErrUnable), errors.Is(err, osrun.ErrNoProgram), errors.Is(err, errors.ErrUnsupported), errors.Is(err, sound.ErrFixed), kind == osrun.NotInstalled:
		return tools.Errorf(tools.Unsupported, "%w", err)
	case errors.Is(err, media.ErrGone), kind == osrun.NotFound:
		return tools.Errorf(tools.NotFound, "%w", err)
	case errors.Is(err, context.DeadlineExceeded):
		return tools.Errorf(tools.TimedOut, "%w", err)
	}
	return tools.Errorf(tools.Failed, "%w", err)
}
