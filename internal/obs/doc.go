// Package obs is what every node shows of itself: its log, its metrics registry, its build, and the endpoints /healthz,
// /readyz and /metrics. What is measured is said by the packages that measure it.
package obs
