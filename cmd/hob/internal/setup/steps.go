package setup

// Steps returns all steps in their order. To add one, add a line.
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
