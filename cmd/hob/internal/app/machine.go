package app

import (
	"context"
	"os"

	desk "hob/platform/host/desktop"
	"hob/platform/host/desktop/filemanager"
	"hob/platform/host/desktop/media"
	"hob/platform/host/desktop/session"
	"hob/platform/host/desktop/shortcuts"
	"hob/platform/host/ocr"
	"hob/platform/host/osrun"
	"hob/platform/host/speech"
	"hob/platform/host/system/display"
	"hob/platform/host/system/fileindex"
	"hob/platform/host/system/power"
	"hob/platform/host/system/sound"
	"hob/tools/desktop"
	"hob/tools/files"
	mediatools "hob/tools/media"
)

// mediaDeps returns the devices for tools: players, sound, battery and screen. Without Screen and
// Session they report that there is none; tests must not change the developer's machine.
func (d *App) mediaDeps(screen *desktop.Deps) mediatools.Deps {
	env := d.environLookup()
	picture := func(ctx context.Context, path string) ([]byte, error) {
		doc, err := d.files.ReadDocument(ctx, path, ocr.MaxBytes)
		return doc.Content, err
	}
	if env == nil {
		screen.Battery = func(context.Context) (power.Battery, error) { return power.Battery{}, session.ErrNone }
		screen.Focus = func(context.Context) (desk.Focus, string, error) { return desk.FocusUnknown, "", session.ErrNone }
		screen.Display, screen.Filer, screen.Shortcuts = noDisplay{}, noFileManager{}, noShortcuts{}
		return mediatools.Deps{Deck: noPlayer{}, Mixer: noMixer{}, Voice: noVoice{}, Reader: noReader{}, Picture: picture}
	}
	scripts := d.scripts
	if scripts == nil {
		scripts = osrun.NewScripts(osrun.Options{Getenv: env, Log: d.opt.Log})
	}
	screen.Battery = func(ctx context.Context) (power.Battery, error) {
		return power.ReadBattery(ctx, power.Options{Getenv: env})
	}
	screen.Focus = func(ctx context.Context) (desk.Focus, string, error) {
		return desk.ReadFocusMode(ctx, desk.Options{Getenv: env})
	}
	screen.Filer = filemanager.New(filemanager.Options{Getenv: env})
	screen.Shortcuts = shortcuts.Library{Run: osrun.Programs{Getenv: env}}
	screen.Display = display.New(display.Options{Getenv: env, Scripts: scripts})
	return mediatools.Deps{
		Deck:   media.New(media.Options{Getenv: env, Scripts: scripts}),
		Mixer:  sound.New(sound.Options{Getenv: env, Scripts: scripts}),
		Voice:  speech.New(speech.Options{Getenv: env, Scripts: scripts}),
		Reader: ocr.New(ocr.Options{Getenv: env, Scripts: scripts}), Picture: picture,
	}
}

// environLookup returns the environment for finding devices; nil if none may be used.
func (d *App) environLookup() func(string) string {
	switch {
	case d.opt.Play != nil:
		return nil
	case d.opt.Session == nil && d.opt.Screen:
		return os.Getenv
	}
	return d.opt.Session
}

// fileIndex returns the system's file index; nil if there is none.
func (d *App) fileIndex() files.Index {
	env := d.environLookup()
	if env == nil {
		return nil
	}
	return fileindex.New(fileindex.Options{Getenv: env, Scripts: d.scripts})
}

type noPlayer struct{}

func (noPlayer) Players(context.Context) ([]media.Player, error) { return nil, session.ErrNone }
func (noPlayer) Do(context.Context, media.Request) error         { return session.ErrNone }

type noReader struct{}

func (noReader) Read(context.Context, []byte) (string, error) { return "", session.ErrNone }

type noFileManager struct{}

func (noFileManager) Reveal(context.Context, string) error { return session.ErrNone }

type noShortcuts struct{}

func (noShortcuts) List(context.Context) ([]string, error) { return nil, session.ErrNone }
func (noShortcuts) Start(context.Context, string, string) (string, error) {
	return "", session.ErrNone
}

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

type noDisplay struct{}

func (noDisplay) Brightness(context.Context) (int, error) { return 0, session.ErrNone }
func (noDisplay) SetBrightness(context.Context, int) (int, error) {
	return 0, session.ErrNone
}
func (noDisplay) Dark(context.Context) (bool, error)          { return false, session.ErrNone }
func (noDisplay) SetDark(context.Context, bool) (bool, error) { return false, session.ErrNone }
