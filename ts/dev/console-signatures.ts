// Selectors of console.log of Hardhat's library and what their arguments are. The library's earlier
// versions named `uint` and `int` in their signatures, which gives other selectors: both are here.
// `test/unit/dev-console.test.ts` computes all of them again.

/**
 * `SELECTOR:TYPES` for each function: u uint256, i int256, s string, b bool, a address, y bytes; a
 * number is bytesN alone.
 */
export const CONSOLE_SIGNATURES = `
51973ec9: f82c50f1:u f5b1bba9:u 41304fac:s 32458eed:b 2c2ecbc2:a f666715a:uu 6c0f6980:uu 643fd0df:us 0fa3f345:us 1c9d7eb3:ub 1e6dd4ec:ub
69276c86:ua 58eb860c:ua b60e72cc:su 9710a9d0:su 4b5c4277:ss c3b55635:sb 319af333:sa 399174d3:bu 364b6a92:bu 8feac525:bs 2a110e83:bb
853c4849:ba 8309e8a8:au 2243cfa3:au 759f86bb:as 75b605d3:ab daf0d4aa:aa d1ed7a3c:uuu e7820a74:uuu 71d04af2:uus 7d690ee6:uus 4766da72:uub
67570ff7:uub 5c96b331:uua be33491b:uua 37aa7d4c:usu 5b6de83f:usu b115611f:uss 3f57c295:uss 4ceda75a:usb 46a7d0ce:usb 7afac959:usa
1f90f24a:usa 20098014:ubu 5a4d9922:ubu 85775021:ubs 8b0e14fe:ubs 20718650:ubb d5ceace0:ubb 35085f7b:uba 424effbf:uba 5a9b5ed5:uau
884343aa:uau 63cb41f9:uas ce83047b:uas 9b6ec042:uab 7ad0128e:uab bcfd9be0:uaa 7d77a61b:uaa ca47c4eb:suu 969cdd03:suu 5970e089:sus
a3f5c739:sus ca7733b1:sub f102ee05:sub 1c7ec448:sua e3849f79:sua 5821efa1:ssu f362ca59:ssu 2ced7cef:sss b0e0f9b5:ssb 95ed0195:ssa
c95958d6:sbu 291bb9d0:sbu e298f47d:sbs 850b7ad6:sbb 932bbb38:sba 0d26b925:sau 07c81217:sau e0e9ad4f:sas c91d5ed4:sab fcec75e0:saa
37103367:buu 3b5c03e0:buu c3fc3970:bus c8397eb0:bus e8defba9:bub 1badc9eb:bub 088ef9d2:bua c4d23507:bua 1093ee11:bsu c0382aac:bsu
b076847f:bss dbb4c247:bsb 9591b953:bsa 12f21602:bbu b01365bb:bbu 2555fa46:bbs 50709698:bbb 1078f68d:bba 5f7b9afb:bau eb704baf:bau
de9a9270:bas 18c9c746:bab d2763667:baa b69bcaf6:auu 8786135e:auu a1f2e8aa:aus baf96849:aus 678209a8:aub e54ae144:aub 7bc0d848:aua
97eca394:aua 67dd6ff1:asu 1cdaf28a:asu fb772265:ass cf020fb1:asb f08744e8:asa 9c4f99fb:abu 2c468d15:abu 212255cc:abs eb830c92:abb
f11699ed:aba 17fe6185:aau 6c366d72:aau 007150be:aas f2a66286:aab 018c84c2:aaa 193fb800:uuuu 5ca0ad3e:uuuu 59cfcbe3:uuus 78ad7a0c:uuus
c598d185:uuub 6452b9cb:uuub fa8185af:uuua e0853f69:uuua 5da297eb:uusu 3894163d:uusu 27d8afd2:uuss 7c032a32:uuss 7af6ab25:uusb
b22eaf06:uusb 42d21db7:uusa 433285a2:uusa eb7f6fd2:uubu 6c647c8c:uubu a5b4fc99:uubs efd9cbee:uubs ab085ae6:uubb 94be3bb1:uubb
9a816a83:uuba e117744f:uuba 88f6e4b2:uuau 610ba8c0:uuau 6cde40b8:uuas d6a2d1de:uuas 15cac476:uuab a8e820ae:uuab 56a5d1b1:uuaa
ca939b20:uuaa 82c25b74:usuu c0043807:usuu b7b914ca:usus a2bc0c99:usus 691a8f74:usub 875a6e2e:usub 3b2279b4:usua ab7bd9fd:usua
b028c9bd:ussu 76ec635e:ussu 21ad0683:usss 57dd0a11:usss b3a6b6bd:ussb 12862b98:ussb d583c602:ussa cc988aa0:ussa cf009880:usbu
a4b48a7f:usbu d2d423cd:usbs 8d489ca0:usbs ba535d9c:usbb 51bc2bc1:usbb ae2ec581:usba 796f28a0:usba e8d3018d:usau 98e7f3f3:usau
9c3adfa1:usas f898577f:usas 90c30a56:usab f93fff37:usab 6168ed61:usaa 7fa5458b:usaa c6acc7a8:ubuu 56828da4:ubuu de03e774:ubus
e8ddbc56:ubus 91a02e2a:ubub d2abc4fd:ubub 88cb6041:ubua 4f40058e:ubua 2c1d0746:ubsu 915fdb28:ubsu 68c8b8bd:ubss a433fcfd:ubss
eb928d7f:ubsb 346eb8c7:ubsb ef529018:ubsa 496e2bb4:ubsa 7464ce23:ubbu bd25ad59:ubbu dddb9561:ubbs 318ae59b:ubbs b6f577a1:ubbb
4e6c5315:ubbb 69640b59:ubba 5306225d:ubba 078287f5:ubau 41b5ef3b:ubau ade052c7:ubas a230761e:ubas 454d54a5:ubab 91fb1242:ubab
a1ef4cbb:ubaa 86edc10c:ubaa 0c9cd9c1:uauu ca9a3eb4:uauu ddb06521:uaus 3ed3bd28:uaus 5f743a7c:uaub 19f67369:uaub 15c127b5:uaua
fdb2ecd4:uaua 46826b5d:uasu a0c414e8:uasu 3e128ca3:uass 8d778624:uass cc32ab07:uasb 22a479a6:uasb 9cba8fff:uasa cbe58efd:uasa
5abd992a:uabu 7b08e8eb:uabu 90fb06aa:uabs 63f0e242:uabs e351140f:uabb 7e27410d:uabb ef72c513:uaba b6313094:uaba 736efbb6:uaau
9a3cbf96:uaau 031c6f73:uaas 7943dc66:uaas 091ffaf5:uaab 01550b04:uaab 2488b414:uaaa 554745f9:uaaa a7a87853:suuu 08ee5666:suuu
854b3496:suus a54ed4bd:suus 7626db92:suub f73c7e3d:suub e21de278:suua bed728bf:suua c67ea9d1:susu a0c4b225:susu 5ab84e1f:suss
6c98dae2:suss 7d24491d:susb e99f82cf:susb 7c4632a4:susa bb7235e9:susa e41b6f6f:subu 550e6ef5:subu abf73a98:subs 76cc6064:subs
354c36d6:subb e37ff3d0:subb e0e95b98:suba e5549d91:suba 4f04fdc6:suau 58497afe:suau 9ffb2f93:suas 3254c2e8:suas 82112a42:suab
1106a8f7:suab 5ea2b7ae:suaa eac89281:suaa f45d7d2c:ssuu d5cf17d0:ssuu 5d1a971a:ssus 8d142cdd:ssus c3a8a654:ssub e65658ca:ssub
1023f7b2:ssua 5d4f4680:ssua 8eafb02b:sssu 9fd009f5:sssu de68f20a:ssss 2c1754ed:sssb 6d572f44:sssa d6aefad2:ssbu 86818a7a:ssbu
5e84b0ea:ssbs 40785869:ssbb c371c7db:ssba 7cc3c607:ssau 4a81a56a:ssau eb1bff80:ssas 5ccd4e37:ssab 439c7bef:ssaa 64b5bb67:sbuu
5dbff038:sbuu 742d6ee7:sbus 42b9a227:sbus 8af7cf8a:sbub 3cc5b5d3:sbub 935e09bf:sbua 71d3850d:sbua 24f91465:sbsu 34cb308d:sbsu
a826caeb:sbss 3f8a701d:sbsb e0625b29:sbsa 8e3f78a9:sbbu 807531e8:sbbu 9d22d5dd:sbbs 895af8c5:sbbb 7190a529:sbba 5d08bb05:sbau
28df4e96:sbau 2d8e33a4:sbas 958c28c6:sbab 33e9dd1d:sbaa f8f51b1e:sauu daa394bd:sauu 5a477632:saus 4c55f234:saus fc4845f0:saub
5ac1c13c:saub 63fb8bc5:saua a366ec80:saua 91d1112e:sasu 8f624be9:sasu 245986f2:sass 5f15d28c:sasb aabc9a31:sasa 3e9f866a:sabu
c5d1bb8b:sabu 0454c079:sabs 79884c2b:sabb 223603bd:saba 8ef3f399:saau 6eb7943d:saau 800a1c67:saas b59dbd60:saab ed8f28f6:saaa
374bb4b2:buuu 32dfa524:buuu 8e69fb5d:buus da0666c8:buus be984353:buub a41d81de:buub 00dd87b9:buua f161b221:buua 6a1199e2:busu
4180011b:busu f5bc2249:buss d32a6548:buss e5e70b2b:busb 91d2f813:busb fedd1fff:busa a5c70d29:busa 7f9bbca2:bubu d3de5593:bubu
9143dbb1:bubs b6d569d4:bubs ceb5f4d7:bubb 9e01f741:bubb 9acd3616:buba 4267c7f8:buba 1537dc87:buau caa5236a:buau 1bb3b09a:buas
18091341:buas b4c314ff:buab 65adf408:buab 26f560a8:buaa 8a2f90aa:buaa 28863fcb:bsuu 8e4ae86e:bsuu 1ad96de6:bsus 77a1abed:bsus
6b0e5d53:bsub 20bbc9af:bsub 1596a1ce:bsua 5b22b938:bsua 7be0c3eb:bssu 5ddb2592:bssu 1762e32a:bsss 1e4b87e5:bssb 97d394d8:bssa
1606a393:bsbu 8d6f9ca5:bsbu 483d0416:bsbs dc5e935b:bsbb 538e06ab:bsba a5cada94:bsau 1b0b955b:bsau 12d6c788:bsas 6dd434ca:bsab
2b2b18dc:bsaa 0bb00eab:bbuu 4667de8e:bbuu 7dd4d0e0:bbus 50618937:bbus 619e4d0e:bbub ab5cc1c4:bbub 54a7a9a0:bbua 0bff950d:bbua
e3a9ca2f:bbsu 178b4685:bbsu 6d1e8751:bbss b857163a:bbsb f9ad2b89:bbsa 6d7045c1:bbbu c248834d:bbbu 2ae408d4:bbbs 3b2a5ce0:bbbb
8c329b1a:bbba 4c123d57:bbau 609386e7:bbau a0a47963:bbas c0a302d8:bbab f4880ea4:bbaa 7bf181a1:bauu 9bfe72bc:bauu 51f09ff8:baus
a0685833:baus d6019f1c:baub ee8d8672:baub 136b05dd:baua 68f158b5:baua c21f64c7:basu 0b99fc22:basu a73c1db6:bass e2bfd60b:basb
6f7c603e:basa 07831502:babu 4cb60fd1:babu 4a66cb34:babs 6a9c478b:babb 1c41a336:baba 0c66d1be:baau 5284bd6c:baau d812a167:baas
46600be0:baab 1d14d001:baaa 34f0e636:auuu 3d0e9de4:auuu 4a28c017:auus 89340dab:auus 66f1bc67:auub ec4ba8a2:auub 20e3984d:auua
1ef63434:auua bf01f891:ausu f512cf9b:ausu 88a8c406:auss 7e56c693:auss cf18105c:ausb a4024f11:ausb 5c430d47:ausa dc792604:ausa
22f6b999:aubu 698f4392:aubu c5ad85f9:aubs 8e8e4e75:aubs 3bf5e537:aubb fea1d55a:aubb a31bfdcc:auba 23e54972:auba 100f650e:auau
a5d98768:auau 1da986ea:auas 5d71f39e:auas a1bcc9b3:auab f181a1e9:auab 478d1c62:auaa ec24846f:auaa 1dc8e1b8:asuu a4c92a60:asuu
448830a8:asus 5d1365c9:asus 0ef7e050:asub 7e250d5b:asub 63183678:asua dfd7d80b:asua 159f8927:assu a14fd039:assu 5d02c50b:asss
35a5071f:assb a04e2f87:assa 515e38b6:asbu e720521c:asbu bc0b61fe:asbs 5f1d5c9f:asbb 205871c2:asba 457fe3cf:asau 8c1933a9:asau
f7e36245:asas 0df12b76:asab 0d36fa20:asaa 386ff5f4:abuu c210a01e:abuu 0aa6cfad:abus 9b588ecc:abus c4643e20:abub 85cdc5af:abub
ccf790a1:abua 0d8ce61e:abua 80e6a20b:absu 9e127b6e:absu 475c5c33:abss 50ad461d:absb 19fd4956:absa 8c4e5de6:abbu cfb58756:abbu
dfc4a2e8:abbs cac43479:abbb cf394485:abba a75c59de:abau dc7116d2:abau 2dd778e6:abas a6f50b0f:abab 660375dd:abaa be553481:aauu
54fdf3e4:aauu fdb4f990:aaus 9dd12ead:aaus 9b4254e2:aaub c2f688ec:aaub 8da6def5:aaua d6c65276:aaua ef1cefe7:aasu 04289300:aasu
21bdaf25:aass 6f1a594e:aasb 8f736d16:aasa 3971e78c:aabu 95d65f11:aabu aa6540c8:aabs 2cd4134a:aabb 9f1bc36e:aaba 94250d77:aaau
ed5eac87:aaau f808da20:aaas 0e378994:aaab 665bf134:aaaa 2d5b6cb9:i 4e0c1d1d:i 3ca6268e:si af7faa38:si 6525b5f5:i 9b5e614f:i 9905b744:u
e223597f:u 0bb563d6:s ba7ab84e:b 5f91b0af:a 0be77f56:y e17bf956:y 6f4171c9:1 6e18a128:1 9b5e943e:2 e9b62296:2 7782fa2d:3 2d834926:3
fba3ad39:4 e05f48d1:4 5583be2e:5 a684808d:5 4942adc6:6 ae84a591:6 4574afab:7 4ed57e28:7 9902e47f:8 4f84252e:8 50a138df:9 90bd8cd0:9
9dc2a897:10 013d178b:10 dc08b6a7:11 04004a2e:11 7656d6c7:12 86a06abd:12 34c1d81b:13 94529e34:13 3ceaba65:14 9266f07f:14 591a3da2:15
da9574e0:15 1f8d7312:16 665c6104:16 f89a532f:17 339f673a:17 d8652642:18 c4d23d9a:18 00f56bc9:19 5e6b5a33:19 ecb8567e:20 5188e3e9:20
3052c08f:21 e9da3560:21 807ab434:22 d5fae89c:22 4979b037:23 aba1cf0d:23 0977aefc:24 f1b35b34:24 aea9963f:25 0b84bc58:25 d3635628:26
f8b149f1:26 fc372f9f:27 3a3757dd:27 382f9a34:28 c82aeaee:28 7a187641:29 4b69c3d5:29 c4340ef6:30 ee12c4ed:30 81fc8648:31 c2854d92:31
2d21d6f7:32 27b7cf85:32
`
