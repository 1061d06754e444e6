// A message's class in a header that the .ci includes behind the message's declaration.
#pragma once

struct Parcel : CMessage_Parcel {
  int weight = 5;
};
