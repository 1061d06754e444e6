// A library that is loaded at run time and has a variable in each thread, whose memory glibc gets by malloc().
extern "C" {
struct Words {
  long words[6];
};
thread_local Words of_thread{{1, 2, 3, 4, 5, 6}};
Words* words_of_thread() { return &of_thread; }
}
