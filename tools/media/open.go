package media

import (
	"context"

	"hob/platform/host/desktop/media"
	"hob/platform/host/desktop/session"
	"hob/platform/host/ocr"
	"hob/platform/host/osrun"
	"hob/platform/host/speech"
	"hob/platform/host/system/sound"
)

// OpenOptions configure Open.
type OpenOptions struct {
	// Getenv looks up the environment variables that are used to find players and devices. If it is
	// nil, the tools report that there is no desktop.
	Getenv func(string) string
	// Scripts runs scripts of apps.
	Scripts osrun.Runner
	// Picture reads a file that Hob may access. It fails if the file is larger than max bytes.
	Picture func(ctx context.Context, path string, max int64) ([]byte, error)
}

// Open returns the dependencies of the tools for this machine's devices. It opens no connection.
func Open(o OpenOptions) Deps {
	d := Deps{Picture: func(ctx context.Context, path string) ([]byte, error) { return o.Picture(ctx, path, ocr.MaxBytes) }}
	if o.Getenv == nil {
		d.Player, d.Mixer, d.Voice, d.Reader = noPlayer{}, noMixer{}, noVoice{}, noReader{}
		return d
	}
	d.Player = media.New(media.Options{Getenv: o.Getenv, Scripts: o.Scripts})
	d.Mixer = sound.New(sound.Options{Getenv: o.Getenv, Scripts: o.Scripts})
	d.Voice = speech.New(speech.Options{Getenv: o.Getenv, Scripts: o.Scripts})
	d.Reader = ocr.New(ocr.Options{Getenv: o.Getenv, Scripts: o.Scripts})
	return d
}

type noPlayer struct{}

func (noPlayer) Players(context.Context) ([]media.Player, error) { return nil, session.ErrNone }
func (noPlayer) Do(context.Context, media.Request) error         { return session.ErrNone }

type noReader struct{}

func (noReader) Read(context.Context, []byte) (string, error) { return "", session.ErrNone }

type noVoice struct{}

func (noVoice) Say(context.Context, string, string) error { return session.ErrNone }

type noMixer struct{}

func (noMixer) Level(context.Context) (sound.Level, error) { return sound.Level{}, session.ErrNone }
func (n noMixer) Set(ctx context.Context, _ int) (sound.Level, error) {
	return n.Level(ctx)
}

func (n noMixer) Mute(ctx context.Context, _ bool) (sound.Level, error) {
	return n.Level(ctx)
}
