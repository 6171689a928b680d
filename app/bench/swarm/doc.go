// Package swarm has the clients of the bench gateway. They run in their own process, so that the
// CPU time and the memory of the bench's process are those of the gateway.
//
//	orders.go    orders to a swarm and its answers; message ids that contain their time
//	process.go   the bench's side: starts a swarm and gives it orders
//	swarm.go     carries out orders: users connect, stay, and come back if they are refused
//	bare.go      one client: an upgraded connection whose frames are counted
package swarm
