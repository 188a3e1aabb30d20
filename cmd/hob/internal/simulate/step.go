package simulate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/autonomy/guard"
	"hob/channels/web"
	"hob/channels/web/apiclient"
	"hob/platform/host/system"
)

// runStep applies one input. Errors are added to the timeline.
func (p *play) runStep(ctx context.Context, in Input) {
	p.line.inputs++
	var err error
	switch in.Kind {
	case Says:
		var client *apiclient.Client
		if client, err = p.apiClient(); err == nil {
			_, err = client.Send(ctx, cmp.Or(in.To, homeSession), web.Message{Text: strings.TrimSpace(in.Body), Async: true})
		}
	case Call:
		go func() { // in the background, because the call may wait for an approval
			if err := p.callTool(ctx, in.To, in.Body); err != nil {
				p.line.addEntry(p.problemEntry(in, err))
			}
		}()
	case Reply:
		err = p.answerQuestion(ctx, in)
	case Away:
		err = p.stayAway(ctx, in.span)
	case Writes:
		err = p.world.writeToChannel(in)
	default:
		p.world.applyInput(in)
		return
	}
	if err != nil {
		p.line.addEntry(p.problemEntry(in, err))
	}
}

func (p *play) problemEntry(in Input, err error) Entry {
	return Entry{At: time.Now(), Kind: Problem, Text: fmt.Sprintf("line %d of the script (%s): %v", in.Line, in.Kind, err)}
}

// applyInput applies an input to the simulated environment.
func (w *world) applyInput(in Input) {
	var err error
	path := strings.TrimSpace(in.To + " " + in.More)
	switch in.Kind {
	case Mail:
		err = w.deliverMail(in)
	case Event:
		err = w.addEvent(in)
	case Web:
		err = w.web.putPage(in)
	case File:
		err = w.putFile(path, []byte(in.Body))
	case Remove:
		at, perr := w.p.inHome(path)
		if err = perr; err == nil {
			err = os.Remove(at)
			w.notifyWatchers(at)
		}
	}
	if err != nil {
		w.p.line.addEntry(w.p.problemEntry(in, err))
	}
}

// stayAway stops Hob and starts it again after span.
func (p *play) stayAway(ctx context.Context, span time.Duration) error {
	p.line.addEntry(Entry{At: time.Now(), Kind: Gone, Text: "Hob stops for " + span.String()})
	if err := p.stop(); err != nil {
		return err
	}
	back := time.Now().Add(span)
	if !back.Before(p.end) { // Hob is not restarted before the end of the simulation
		_, err := p.loadDaemon(ctx)
		return errors.Join(err, p.waitUntil(p.end))
	}
	if err := p.waitUntil(back); err != nil {
		return err
	}
	if err := p.openDaemon(ctx, false); err != nil {
		return err
	}
	p.line.addEntry(Entry{At: time.Now(), Kind: Start, Text: "Hob starts again"})
	return nil
}

// answerQuestion answers the oldest pending question that matches.
func (p *play) answerQuestion(ctx context.Context, in Input) error {
	waitIdle()
	client, err := p.apiClient()
	if err != nil {
		return err
	}
	open, err := client.Approvals(ctx, api.Query{State: string(guard.Pending)})
	if err != nil {
		return err
	}
	slices.Reverse(open) // newest first
	for _, q := range open {
		if in.More == "" || q.Tool == in.More || strings.Contains(strings.ToLower(q.Summary), strings.ToLower(in.More)) {
			_, err := client.Answer(ctx, q.ID, api.Answer{Approved: in.To == "yes", Note: strings.TrimSpace(in.Body)})
			return err
		}
	}
	return errors.New("no matching approval request is open")
}

// callTool calls a tool in the same way as the command line.
func (p *play) callTool(ctx context.Context, tool, args string) error {
	client, err := p.apiClient()
	if err != nil {
		return err
	}
	out, err := client.Call(ctx, homeSession, tool, json.RawMessage(cmp.Or(strings.TrimSpace(args), "{}")))
	if err == nil && out.Error != "" {
		err = errors.New(out.Error)
	}
	return err
}

// homeSession is the conversation that the user usually uses.
const homeSession = "home"

// apiClient returns an API client for Hob, like the one that the command line uses.
func (p *play) apiClient() (*apiclient.Client, error) {
	token, err := system.ReadToken(p.paths.TokenFile())
	if err != nil {
		return nil, err
	}
	return apiclient.New(p.d.Client(), "http://"+p.d.Addr(), token), nil
}
