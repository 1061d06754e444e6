// A library without a balancer.
int periapt_no_balancer() { return 0; }
