package setup

import (
	"context"
	"errors"
	"slices"

	"hob/autonomy/config"
	"hob/tools/web"
)

// searchStep returns the step that asks for the web search service.
func searchStep() Step {
	return Step{
		Name: "search", Extra: true, Title: "Web search", Keys: []string{"search", "search_key", "search_url"},
		Next: nextOfSearch, Apply: applySearch,
	}
}

func nextOfSearch(_ context.Context, o Options, a Answers) ([]Question, error) {
	if !a.isGiven("search") {
		q := Question{Key: "search", Kind: Choice, Title: "Which service should search the web?", Default: o.Config.Search.Provider, Options: []Option{
			{"auto", "a service with a key in the environment, otherwise DuckDuckGo"},
			{"tavily", "Tavily, with an API key"},
			{"brave", "Brave Search, with an API key"},
			{"searxng", "your own SearXNG"},
			{"duckduckgo", "DuckDuckGo, without an API key"},
		}}
		if !q.hasOption(q.Default) {
			q.Default = "auto"
		}
		return []Question{q}, nil
	}
	switch {
	case slices.Contains([]string{"tavily", "brave"}, a["search"]) && !a.isGiven("search_key"):
		q := Question{Key: "search_key", Kind: Secret, Title: "What is the API key of the search service?", About: "Your input is not shown. Setup tests the key with one search."}
		if o.Config.Search.Key != "" {
			q.About += " Leave it empty to keep the stored one."
		}
		return []Question{q}, nil
	case a["search"] == "searxng" && !a.isGiven("search_url"):
		return []Question{{Key: "search_url", Kind: Text, Title: "What is the address of your SearXNG server?", About: "Such as http://127.0.0.1:8888.", Default: o.Config.Search.BaseURL}}, nil
	}
	return nil, nil
}

func applySearch(ctx context.Context, o Options, a Answers) (d StepResult, err error) {
	who := a["search"]
	now := o.Config.Search.Key
	if who != o.Config.Search.Provider { // the stored key belongs to a different provider
		now = ""
	}
	key, ref := "", ""
	if slices.Contains([]string{"tavily", "brave"}, who) {
		if key, ref, d.Secrets, err = o.secretOf(ctx, a["search_key"], "search", now); err == nil && key == "" {
			err = errors.New("key is empty")
		}
		if err != nil {
			return d, newProblem(err, false, "search", "search_key")
		}
	}
	if a[untested] == "" && who != "auto" && who != "duckduckgo" {
		o.showBusy("Testing the search ...")
		if err := o.trySearch(ctx, who, a["search_url"], key); err != nil {
			return d, newProblem(err, true, "search", "search_key", "search_url")
		}
		d.Said = append(d.Said, "The test search worked.")
	}
	d.Values = o.changedValues(config.Value{Key: "search.provider", Value: who})
	if ref != "" {
		d.Values = append(d.Values, config.Value{Key: "search.key", Value: ref})
	}
	if a["search_url"] != "" {
		d.Values = append(d.Values, config.Value{Key: "search.base_url", Value: a["search_url"]})
	}
	return d, nil
}

func (o Options) trySearch(ctx context.Context, who, address, key string) error {
	client, err := o.Config.Network.Client(ctx, o.Secrets)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	return web.Deps{Network: client, Search: web.Search{
		Provider: who, BaseURL: address, Key: func(context.Context) (string, error) { return key, nil },
	}}.Try(ctx)
}
