package alexa

import (
	"errors"

	"hob/channels"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/settings"
)

// skillForm matches a skill id (developer.amazon.com/docs/alexa/custom-skills).
var skillForm = lazyregexp.New(`^amzn1\.ask\.skill\.[0-9A-Za-z-]{20,}$`)

// Describe implements channels.Driver.
func (Driver) Describe() channels.Description {
	return channels.Description{
		Name: Name, Title: "your own skill: speak to an Echo, and Hob answers",
		Intro: "Create a custom skill at developer.amazon.com/alexa/console/ask; its id is shown below its name.\n" +
			"Set its endpoint to an HTTPS address that forwards to /hooks/alexa on Hob's port, for example through a tunnel.",
		Settings: []settings.Setting{
			{Key: "skill", Kind: settings.Text, Title: "Id of the skill", Help: "Begins with amzn1.ask.skill.", Check: func(s string) error {
				if !skillForm.MatchString(s) {
					return errors.New("must look like amzn1.ask.skill.0a1b2c3d-1234-1234-1234-0a1b2c3d4e5f")
				}
				return nil
			}},
			channels.AllowSetting("accounts, which begin with amzn1.ask.account."),
			{Key: "voices", Kind: settings.Text, List: true, Optional: true, Unasked: true, Title: "Whose recognized voice may answer approval requests? Ids that begin with amzn1.ask.person."},
		},
		Pairs:    true,
		Manifest: manifest,
	}
}
