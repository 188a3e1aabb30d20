package imessage

import (
	"context"
	"embed"
	"errors"
	"time"

	"hob/channels"
	"hob/platform/host/osrun"
)

//go:embed scripts/*.applescript
var sources embed.FS

// messagesApp returns the Messages app. Before macOS 11, which Hob does not support, its id was
// com.apple.iChat, and participants were called buddies.
func messagesApp() osrun.App { return osrun.App{ID: "com.apple.MobileSMS", Name: "Messages"} }

// loadScript returns a script from scripts/ with the shared code.
func loadScript(file string) osrun.Script {
	var parts []string
	for _, name := range []string{"messages.applescript", file} {
		b, err := sources.ReadFile("scripts/" + name)
		if err != nil {
			panic(err) // cannot happen: the script is embedded
		}
		parts = append(parts, string(b))
	}
	return osrun.NewScript("imessage/"+file, parts...)
}

// File names of the scripts.
const (
	toChat     = "chat.applescript"
	toPerson   = "person.applescript"
	toPerson12 = "person12.applescript"
	isReady    = "ready.applescript"
)

// scriptWait exceeds the timeout in the scripts, so that a script can report the result from
// Messages.
const scriptWait = 15 * time.Second

// request is the input of the scripts. Text is passed as data and never inserted into a script.
type request struct {
	Target  string `json:"target"`
	Service string `json:"service"`
	Body    string `json:"bodyText"`
	File    string `json:"filePath"`
}

func (c *Channel) runScript(ctx context.Context, file string, in request) error {
	return c.deps.Scripts.Run(ctx, osrun.Call{Script: loadScript(file), App: messagesApp(), In: in, Write: true, Wait: scriptWait}, nil)
}

// osascript errors for terms that an app's dictionary does not contain.
const (
	asSyntax         = -2741
	asSyntaxExpected = -2740
)

// unknownWord reports whether a script failed to compile with this version of Messages. In that
// case nothing was run.
func unknownWord(err error) bool {
	e, ok := errors.AsType[*osrun.Error](err)
	return ok && (e.Number == asSyntax || e.Number == asSyntaxExpected)
}

// handOver passes one text or one file to Messages.
func (c *Channel) handOver(ctx context.Context, t target, in request) error {
	in.Service = t.service
	if t.service == "RCS" { // sent by the phone, like SMS
		in.Service = "SMS"
	}
	if t.guid != "" {
		in.Target = t.guid
		err := c.runScript(ctx, toChat, in)
		// Messages rejects this chat id from the database, but a person can still be reached by
		// their address. A group has no alternative.
		if t.group || osrun.KindOf(err) != osrun.NotFound || osrun.IsUncertain(err) {
			return err
		}
		c.deps.Log.InfoContext(ctx, "chat id unknown to Messages; sending to the person", "channel", Name)
	}
	in.Target = t.key
	file := toPerson
	if c.old.Load() {
		file = toPerson12
	}
	err := c.runScript(ctx, file, in)
	if unknownWord(err) && file == toPerson {
		if err = c.runScript(ctx, toPerson12, in); !unknownWord(err) {
			c.old.Store(true)
		}
	}
	return err
}

// classifyScriptError returns err with its class.
func (c *Channel) classifyScriptError(t target, err error) error {
	e := &channels.Error{Class: channels.Temporary, MaybeSent: osrun.IsUncertain(err), Err: err}
	switch osrun.KindOf(err) {
	case osrun.Denied, osrun.PolicyBlocked:
		e.Class = channels.Unauthorized
	case osrun.Unsupported, osrun.NotInstalled:
		e.Class = channels.Unsupported
	case osrun.NotFound:
		e.Class = channels.Permanent
		e.Err = errors.Join(errors.New("Messages has no account or chat for this address; send one message to this address in the Messages app, then try again"), err) //nolint:staticcheck // Messages is a name
		if t.group {
			e.Err = errors.Join(errors.New("Messages does not know this group's id; send one message to the group in the Messages app, then try again"), err) //nolint:staticcheck // likewise
		}
	case osrun.Invalid:
		e.Class = channels.Permanent
	case osrun.Timeout:
		if !e.MaybeSent { // the script ended, unlike after a timeout, which leaves the outcome unknown
			e.Err = errors.New(err.Error())
		}
	}
	return e
}
