package dev

import (
	"github.com/tidemark/tidemark/app/demo"
	"github.com/tidemark/tidemark/app/ui"
)

// page configures the page at / for this stack; chat is nil without a demo.
func (s *Stack) page(chat *demo.Driver) *ui.Config {
	c := &ui.Config{About: ui.About{Dev: true}}
	if chat != nil {
		c.Demo = demoSwitch{chat}
	}
	return c
}

// demoSwitch is the demo in the page's view.
type demoSwitch struct{ driver *demo.Driver }

// Set changes the behaviour of the demo.
func (d demoSwitch) Set(s ui.DemoState) {
	d.driver.SetControl(demo.Control{Paused: s.Paused, Away: s.Away})
}

// State returns its behaviour.
func (d demoSwitch) State() ui.DemoState {
	c := d.driver.Control()
	return ui.DemoState{Paused: c.Paused, Away: append([]string{}, c.Away...)}
}
