package doctor

import (
	"context"
	"fmt"
	"strings"

	"hob/platform/system"
)

// Channel is how one works, as the running daemon says; see channels.Health.
type Channel struct {
	Name, State, Error string
}

// checkChannels looks whether the secrets of channels can be read and, in the
// daemon, how they work: what it says here is what the page and the status say.
func checkChannels(ctx context.Context, e Env) []Check {
	var on []string
	var out []Check
	for _, s := range e.Config.Channels {
		if s.Enabled {
			on = append(on, s.Name)
			out = append(out, channelSecrets(ctx, e, s.Name)...)
		}
	}
	if e.Channels != nil {
		for _, c := range e.Channels() {
			out = append(out, channelWorks(c)...)
		}
	}
	switch {
	case len(out) > 0:
		return out
	case len(on) == 0:
		return ok("channels", "the terminal and the web page")
	case e.Channels == nil:
		return skip("channels", strings.Join(on, ", ")+" are set up, beside the terminal and the web page; whether they work shows while Hob runs", "hob start, then: hob doctor channels")
	}
	return ok("channels", strings.Join(on, ", ")+", and the terminal and the web page")
}

func channelSecrets(ctx context.Context, e Env, name string) (out []Check) {
	v, err := e.Config.Get("channels." + name)
	keys, is := v.(map[string]any)
	if err != nil || !is {
		return nil
	}
	for key, value := range keys {
		ref, is := value.(string)
		if !is || !system.IsReference(ref) {
			continue
		}
		if _, err := e.Secrets.Resolve(ctx, ref); err != nil {
			out = append(out, failed("channel "+name, fmt.Errorf("%s: %w", key, err), "hob config set channels."+name+"."+key)...)
		}
	}
	return out
}

func channelWorks(c Channel) []Check {
	name := "channel " + c.Name
	cause, remedy := c.Error, ""
	if i := strings.LastIndex(cause, "; "); i > 0 {
		cause, remedy = cause[:i], cause[i+2:]
	}
	if remedy == "" {
		remedy = "see the log: hob doctor log"
	}
	switch c.State {
	case "stopped", "failed":
		return fail(name, "it has stopped: "+cause, remedy+"; then: hob stop, hob start")
	case "waiting":
		return warn(name, "it does not work now, and is tried again: "+cause, remedy)
	case "starting":
		return skip(name, "it is still starting", "look again in a moment: hob doctor channels")
	}
	return nil
}
