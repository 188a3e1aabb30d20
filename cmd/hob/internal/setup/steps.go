package setup

// Steps are all parts of the set-up in the order in which they are asked. A new
// part is a line here.
func Steps() []Step {
	return []Step{
		brain(),
		you(),
		channelStep(),
		accountStep(),
		search(),
		folders(),
		quiet(),
		template(),
		features(),
		autostart(),
		permissions(),
	}
}

// Names of the steps.
func Names() (out []string) {
	for _, s := range Steps() {
		out = append(out, s.Name)
	}
	return out
}
