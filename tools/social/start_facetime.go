package social

import (
	"context"
	_ "embed" // embeds the script
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"hob/platform/host/osrun"
	"hob/platform/pim/messages/chatdb"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

//go:embed facetime.js
var facetimeText string

func facetimeScript() osrun.Script { return osrun.NewScript("social/facetime.js", facetimeText) }

// facetimeWait limits the time until macOS has opened the address.
const facetimeWait = 15 * time.Second

type facetimeIn struct {
	Contact string `json:"contact" jsonschema:"who to call: a name in the contacts, a number such as +15550100, or an email address"`
	Audio   bool   `json:"audio_only,omitempty" jsonschema:"call without video"`
}

// facetimeOut is the Data of start_facetime.
type facetimeOut struct {
	Address string `json:"address"`
	Link    string `json:"link"` // opens the call on any Apple device
	Audio   bool   `json:"audio_only"`
}

func (d Deps) startFacetime() tools.Tool {
	return tools.New(tools.Def[facetimeIn]{
		Spec: tools.Spec{
			Name: "start_facetime", Category: "social", Effects: tools.Send, Timeout: messageTime,
			Description: "Start a FaceTime video or audio call with a person on this Mac; the user confirms the call in FaceTime.",
			Keywords:    "facetime call video audio phone ring dial",
		},
		Summary: func(in facetimeIn) string {
			return "Call with FaceTime: " + textnorm.Ellipsize(in.Contact, 100)
		},
		Judge: func(ctx context.Context, in facetimeIn) tools.CallAssessment {
			out, err := d.callTarget(ctx, in)
			if err != nil {
				return tools.CallAssessment{Refused: err}
			}
			return tools.CallAssessment{To: []string{out.Address}, Exact: out.Link}
		},
		Run: func(ctx context.Context, c tools.Call, in facetimeIn) (tools.Result, error) {
			out, err := d.callTarget(ctx, in)
			if err != nil {
				return tools.Result{}, err
			}
			if out.Link != c.Exact {
				return tools.Result{}, tools.Errorf(tools.Conflict, "the contact has another address since the approval; nothing was called")
			}
			if err := c.Commit(); err != nil {
				return tools.Result{}, err
			}
			err = d.Scripts.Run(ctx, osrun.Call{Script: facetimeScript(), In: map[string]string{"url": out.Link}, Write: true, Wait: facetimeWait}, nil)
			if err != nil {
				code := tools.Failed
				if osrun.IsUncertain(err) {
					code = tools.OutcomeUnknown
				}
				return tools.Result{}, tools.Errorf(code, "FaceTime: %w", tools.CleanErr(err))
			}
			return tools.Result{Text: fmt.Sprintf("FaceTime asks you to confirm the call to %s.", out.Address), Data: out, Source: provenance.Tool}, nil
		},
	})
}

// callTarget finds the only address of a person.
func (d Deps) callTarget(ctx context.Context, in facetimeIn) (facetimeOut, error) {
	contact := strings.TrimSpace(in.Contact)
	if contact == "" || len(contact) > 200 || strings.ContainsFunc(contact, unicode.IsControl) {
		return facetimeOut{}, tools.Errorf(tools.InvalidArguments, "contact must be a name, a number or an email address of at most 200 bytes")
	}
	if d.Scripts == nil || runtime.GOOS == "windows" {
		return facetimeOut{}, &tools.Error{Source: provenance.Tool, Code: tools.Unsupported, Message: "FaceTime calls start only on a Mac", Remedy: "call from an Apple device"}
	}
	address := contact
	if !strings.Contains(contact, "@") && strings.ContainsFunc(contact, unicode.IsLetter) {
		found, err := d.lookUpContact(ctx, contact)
		if err != nil {
			return facetimeOut{}, err
		}
		address = found
	}
	address = chatdb.Handle(address, "")
	scheme := "facetime"
	if in.Audio {
		scheme = "facetime-audio"
	}
	return facetimeOut{Address: address, Link: scheme + "://" + url.PathEscape(address), Audio: in.Audio}, nil
}

// lookUpContact returns the number or the address of the only contact with a name.
func (d Deps) lookUpContact(ctx context.Context, name string) (string, error) {
	if d.People == nil {
		return "", tools.Errorf(tools.NotFound, "no address book is connected; give the number or the email address")
	}
	found, err := d.People(ctx, name)
	if err != nil {
		return "", err
	}
	var all []string
	for _, p := range found {
		all = append(all, slices.Concat(p.Phones, p.Addresses)...)
	}
	e := tools.Errorf(tools.NotFound, "no contact %q has a number or an email address", tools.Clean(textnorm.Ellipsize(name, 60)))
	switch {
	case len(all) == 0:
	case len(found) > 1:
		e = tools.Errorf(tools.InvalidArguments, "%d contacts match %q; give the number: %s", len(found), tools.Clean(textnorm.Ellipsize(name, 60)), tools.Clean(textnorm.Ellipsize(strings.Join(all, ", "), 300)))
		e.Source = provenance.Outside
	default:
		return all[0], nil
	}
	return "", e
}
