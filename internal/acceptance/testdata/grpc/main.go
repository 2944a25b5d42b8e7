// Command grpc is a server of gRPC's health service and its clients: each call has an id of its own, by which it can be
// told what it was answered.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	pb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "serve" {
		l, err := net.Listen("tcp", os.Args[2])
		check(err)
		s := grpc.NewServer()
		h := health.NewServer()
		h.SetServingStatus("there", pb.HealthCheckResponse_SERVING)
		pb.RegisterHealthServer(s, h)
		fmt.Println("ready")
		check(s.Serve(l))
	}
	c, err := grpc.NewClient(os.Args[2], grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	var all sync.WaitGroup
	var out sync.Mutex
	for k := range 4 {
		all.Go(func() {
			for i := range 25 {
				id := fmt.Sprintf("%d-%d", k, i)
				ctx := metadata.AppendToOutgoingContext(context.Background(), "x-request-id", id)
				_, err := pb.NewHealthClient(c).Check(ctx, &pb.HealthCheckRequest{Service: []string{"there", "nowhere"}[i%2]})
				code := status.Code(err)
				if want := []codes.Code{codes.OK, codes.NotFound}[i%2]; code != want {
					fmt.Println(err)
					os.Exit(1)
				}
				out.Lock()
				fmt.Println(id, int(code))
				out.Unlock()
			}
		})
	}
	all.Wait()
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
